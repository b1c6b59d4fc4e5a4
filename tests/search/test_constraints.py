"""Must-links, cannot-links and groups: the best of the clusterings that have them, with a proof."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from certificates import signed_again
from oracles import partitions

from bdcc_jax import Graph, Options, Rejected, read, solve, solve_batch, verify, write
from bdcc_jax.cli import main
from bdcc_jax.graphs import modularity_graph
from bdcc_jax.instance.unconstrained import unconstrained
from bdcc_jax.layers import MulticutLayer
from bdcc_jax.presolve import presolve

OPTIONS = {
    "default": Options(),
    "bare": Options(presolve=False, heuristics=False),
    "paper": Options.paper(),
    "whole": Options(presolve=False, integer="whole"),
}


def random_constraints(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    pairs = np.array([*combinations(range(n), 2)])
    chosen = {
        "must_link": pairs[rng.integers(0, len(pairs), rng.integers(0, 3))],
        "cannot_link": pairs[rng.integers(0, len(pairs), rng.integers(0, 4))],
    }
    if rng.random() < 0.4:
        chosen["groups"] = rng.integers(-1, 3, n)
    return chosen


def allowed(n, must_link, cannot_link, groups=None) -> np.ndarray:
    """All clusterings with the constraints, by looking at each."""
    labels = partitions(n)
    fine = np.ones(len(labels), dtype=bool)
    for u, v in must_link:
        fine &= labels[:, u] == labels[:, v]
    for u, v in cannot_link:
        fine &= labels[:, u] != labels[:, v]
    for u, v in combinations(range(n), 2):
        if groups is not None and groups[u] == groups[v] >= 0:
            fine &= labels[:, u] != labels[:, v]
    return labels[fine]


def random_weights(rng: np.random.Generator, m: int) -> np.ndarray:
    kinds = (
        rng.normal(size=m),
        rng.integers(-5, 6, m).astype(float),
        rng.normal(size=m) * 10.0 ** rng.integers(-6, 7, m),
    )
    return kinds[rng.integers(3)]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_against_all_clusterings(options):
    rng = np.random.default_rng(7)
    solved = refused = 0
    for _ in range(60):
        n = int(rng.integers(2, 8))
        pairs = np.array([*combinations(range(n), 2)])
        edges = pairs[rng.random(len(pairs)) < rng.choice([0.4, 0.7, 1.0])]
        graph = Graph(n, edges, random_weights(rng, len(edges)))
        constraints = random_constraints(rng, n)
        possible = allowed(n, **constraints)
        if len(possible) == 0:
            with pytest.raises(ValueError, match="contradicts"):
                graph.constrained(**constraints)
            refused += 1
            continue
        limited = graph.constrained(**constraints)
        result = solve(limited, options=options)
        best = min(graph.objective(labels) for labels in possible)
        size = np.abs(graph.weights).sum()
        assert result.status == "optimal"
        assert result.objective == pytest.approx(best, abs=1e-9 * size)
        assert limited.constraints.violated(result.labels) is None
        for record in result.history:
            assert record.lower_bound <= best + 1e-12 * size
            assert record.upper_bound >= best - 1e-12 * size
        verdict = verify(limited, result.certificate)
        assert float(verdict.lower_bound) <= best + 1e-12 * size
        solved += 1
    assert solved > 30
    assert refused > 3


def larger(seed: int = 3) -> Graph:
    """Whose LP takes some rounds; a tenth of its pairs is constrained."""
    rng = np.random.default_rng(seed)
    n = 60
    pairs = np.array([*combinations(range(n), 2)])
    edges = pairs[rng.random(len(pairs)) < 0.15]
    hidden = rng.integers(0, 6, n)
    same = hidden[edges[:, 0]] == hidden[edges[:, 1]]
    graph = Graph(n, edges, np.where(same, 1.0, -1.0) + rng.normal(size=len(edges)))
    some = pairs[rng.random(len(pairs)) < 0.05]
    together = hidden[some[:, 0]] == hidden[some[:, 1]]
    return graph.constrained(must_link=some[together][:8], cannot_link=some[~together])


def test_weights_of_a_billion_say_the_same():
    graph = larger()
    heavy = 1e5
    links = graph.constraints
    pairs = np.concatenate([graph.edges, links.must_link, links.cannot_link])
    signs = np.repeat([heavy, -heavy], [len(links.must_link), len(links.cannot_link)])
    plain = solve(Graph(graph.n, pairs, np.concatenate([graph.weights, signs])))
    result = solve(graph)
    assert plain.status == result.status == "optimal"
    assert result.objective == pytest.approx(graph.objective(plain.labels), abs=1e-9)
    assert not verify(graph, result.certificate).claims


def test_no_weight_is_larger_than_those_around_it():
    graph = larger()
    instead = unconstrained(graph)
    most = np.bincount(graph.edges.ravel(), np.repeat(np.abs(graph.weights), 2)).max()
    assert np.abs(instead.graph.weights).max() <= 10 * most


def test_what_is_left_where_weights_cancel_is_no_weight():
    graph = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4)], [0.1, 0.2, -0.3, 1.0])
    limited = graph.constrained(must_link=[(1, 2), (2, 3)])
    instead = unconstrained(limited)
    assert instead.graph.weights.tolist() == [1.0]
    assert 0.0 < instead.off < 1e-15
    result = solve(limited)
    assert result.status == "optimal"
    assert not verify(limited, result.certificate).claims


def test_optimal_is_proven_also_where_sums_lose_digits():
    rng = np.random.default_rng(12)
    lost = 0
    for _ in range(300):
        graph = Graph(
            4, [*combinations(range(4), 2)], rng.normal(size=6) * 10.0 ** rng.integers(-3, 14, 6)
        )
        limited = graph.constrained(must_link=[(0, 1)])
        result = solve(limited)
        verify(limited, result.certificate)
        lost += result.status == "numerical"
    assert lost > 0  # or the weights are too tame


def test_weights_that_overflow_with_constraints_are_refused():
    graph = Graph(3, [(0, 1), (1, 2)], [8e307, 8e307])
    with pytest.raises(ValueError, match="more than a float64 can hold"):
        solve(graph, cannot_link=[(0, 2)])


def test_groups_of_a_table_with_gaps():
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 2.0, 3.0])
    for nothing in (-1.0, None, np.nan, pd.NA):
        groups = pd.Series([nothing, 1.0, 2.0, nothing], dtype=object)
        assert solve(graph, groups=groups).n_clusters == 1


def test_infinite_weights_mean_the_same():
    edges, weights = [(0, 1), (1, 2), (0, 3), (2, 3)], [1.0, np.inf, -np.inf, 4.0]
    graph = Graph(4, edges, weights)
    assert graph.m == 2
    assert graph.constraints.must_link.tolist() == [[1, 2]]
    assert graph.constraints.cannot_link.tolist() == [[0, 3]]
    labels = solve(graph).labels.tolist()
    assert labels == [0, 1, 1, 1]
    matrix = np.zeros((4, 4))
    for (u, v), w in zip(edges, weights, strict=True):
        matrix[u, v] = matrix[v, u] = w
    assert solve(matrix).labels.tolist() == labels
    matrix[3, 0] = 0.0
    with pytest.raises(ValueError, match=r"symmetric: entry \(0, 3\) is -inf but \(3, 0\) is not"):
        solve(matrix)


def test_names():
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, 2.0], names=["a", "b", "c"])
    for pair in (("a", "c"), (0, 2)):
        result = solve(graph, cannot_link=[pair])
        assert result.clusters == {"a": 0, "b": 1, "c": 1}
    assert solve(graph, groups={"a": "left", "c": "left"}).labels.tolist() == [0, 1, 1]
    numbers = Graph(3, [(0, 1), (1, 2)], [1.0, 2.0], names=[10, 11, 1])
    assert numbers.constrained(must_link=[(10, 1)]).constraints.must_link.tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            {"must_link": [(0, 1), (1, 2), (2, 3)], "cannot_link": [(3, 0)]},
            r"must_link \(0, 1\), \(1, 2\), \(2, 3\) contradicts cannot_link \(0, 3\)",
        ),
        ({"cannot_link": [(2, 2)]}, "node 2 cannot be apart from itself"),
        (
            {"must_link": [(0, 1)], "groups": ["x", "x", None, None]},
            r"must_link \(0, 1\) contradicts that nodes 0 and 1 are of one group",
        ),
        ({"must_link": [(0, 4)]}, r"must_link\[0\] is \(0, 4\): node ids are 0 .. 3"),
        ({"must_link": [(0, 1), (0, 1, 2)]}, r"must_link must be pairs of nodes"),
        ({"must_link": [("a", "b")]}, "pairs of node ids"),
        ({"cannot_link": [(0.5, 1.0)]}, "whole numbers"),
        ({"groups": [0, 1]}, r"groups must have one entry a node \(4\)"),
        ({"groups": {9: "x"}}, "there is no node 9"),
    ],
)
def test_what_is_refused(constraints, message):
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=message):
        solve(graph, **constraints)


def test_groups_of_many_nodes_take_pairs_only_where_nodes_hang_together():
    n = 20_000
    graph = Graph(n, np.arange(n).reshape(-1, 2), np.ones(n // 2))
    result = solve(graph, groups=np.zeros(n, dtype=int))
    assert result.status == "optimal"
    assert result.n_clusters == n


def test_a_clustering_to_start_from_is_made_to_fit():
    graph = larger()
    result = solve(graph, initial=np.zeros(graph.n, dtype=int), time_limit=0.0)
    assert graph.constraints.violated(result.labels) is None
    assert result.objective <= result.initial_objective


def test_checkpoints(tmp_path):
    graph, file = larger(), tmp_path / "solve.checkpoint"
    short = solve(graph, checkpoint=file, options=Options(max_rounds=1))
    whole = solve(graph, checkpoint=file, options=Options(max_rounds=1), time_limit=0.0)
    assert whole.lower_bound >= short.lower_bound
    other = graph.constrained(cannot_link=[(0, 1)])
    with pytest.raises(ValueError, match="instance"):
        solve(other, checkpoint=file, options=Options(max_rounds=1))


def test_batches_and_callbacks_see_clusterings_of_the_graph():
    graph, seen = larger(), []
    result = solve(graph, callback=lambda state: seen.append(state.labels) or False)
    assert all(graph.constraints.violated(labels) is None for labels in seen)
    (other,) = solve_batch([graph])
    assert other.labels.tolist() == result.labels.tolist()


def test_files(tmp_path):
    graph = larger().constrained(groups=[None] * 58 + ["x", "y"])
    write(graph, tmp_path / "graph.npz")
    again = read(tmp_path / "graph.npz").constraints
    for key in ("must_link", "cannot_link", "groups"):
        assert np.array_equal(getattr(again, key), getattr(graph.constraints, key))
    with pytest.raises(ValueError, match="must_link and other files cannot be had together"):
        write(graph, tmp_path / "graph.txt")
    assert not (tmp_path / "graph.txt").exists()


def test_the_command_line(tmp_path, capsys):
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, 2.0])
    write(graph, tmp_path / "g.txt")
    (tmp_path / "apart.csv").write_text("# these two\n0, 2\n")
    (tmp_path / "groups.tsv").write_text("0\tfirst\n2\tfirst\n")
    for flags in (["--cannot-link", "apart.csv"], ["--groups", "groups.tsv"]):
        command = ["solve", str(tmp_path / "g.txt"), flags[0], str(tmp_path / flags[1])]
        out = tmp_path / f"{flags[1]}.labels"
        assert main([*command, "-o", str(out), "--quiet"]) == 0
        assert out.read_text() == "0\n1\n1\n"
    (tmp_path / "wrong.txt").write_text("0 7\n")
    command = ["solve", str(tmp_path / "g.txt"), "--must-link", str(tmp_path / "wrong.txt")]
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert "wrong.txt, line 1: the graph has no node '7'" in capsys.readouterr().err
    (tmp_path / "labels").write_text("0\n0\n0\n")
    command = ["certify", str(tmp_path / "g.txt"), str(tmp_path / "labels")]
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--cannot-link", str(tmp_path / "apart.csv")])
    assert "violates cannot_link" in capsys.readouterr().err


def test_who_knows_of_no_constraints_says_so():
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, 2.0], names=None).constrained(cannot_link=[(0, 2)])
    for use in (MulticutLayer, modularity_graph, presolve):
        with pytest.raises(ValueError, match="cannot_link"):
            use(graph)


class TestForgeries:
    """Proofs that use constraints which the instance does not have."""

    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [3.0, 2.0, -1.0])

    def rejected(self, certificate, graph=None):
        with pytest.raises(Rejected):
            verify(self.graph if graph is None else graph, signed_again(certificate))

    def limited(self) -> Graph:
        return self.graph.constrained(cannot_link=[(0, 1)])

    def certificate(self):
        return json.loads(json.dumps(solve(self.limited()).certificate))

    def test_of_another_instance(self):
        self.rejected(self.certificate())

    def test_labels_that_violate(self):
        certificate = self.certificate()
        certificate["labels"] = [0, 0, 0]
        self.rejected(certificate, self.limited())

    def test_pairs_that_may_be_together(self):
        certificate = self.certificate()
        certificate["proof"]["apart"].append([1, 2, 5.0])
        self.rejected(certificate, self.limited())

    def test_a_rule_within_another(self):
        certificate = self.certificate()
        certificate["proof"] = {"rule": "presolve", "steps": [], "nodes": [0, 1, 2],
                                "proof": certificate["proof"]}  # fmt: skip
        self.rejected(certificate, self.limited())

    def test_used_twice(self):
        certificate = self.certificate()
        inner = dict(certificate["proof"])
        certificate["proof"]["proof"] = inner
        self.rejected(certificate, self.limited())

    def test_must_links_that_are_not_there(self):
        limited = self.graph.constrained(must_link=[(0, 2)])
        certificate = json.loads(json.dumps(solve(limited).certificate))
        certificate["instance"] = solve(self.graph).certificate["instance"]
        self.rejected(certificate)
