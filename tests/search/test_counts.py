"""At least, and at most, so many clusters: the best of those, with a proof."""

import json
from itertools import combinations

import numpy as np
import pytest
from certificates import signed_again, written
from oracles import partitions

from bdcc_jax import Graph, Options, Rejected, read, solve, solve_batch, verify, write
from bdcc_jax.base.clock import Clock
from bdcc_jax.cli import main
from bdcc_jax.instance.completion import completed
from bdcc_jax.primal.counted import counted, merged_freely, split_freely
from bdcc_jax.separation.counts import clique_rows, forest_rows

BARE = Options(presolve=False, heuristics=False, rounding=())
PATH = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, 1.0, 2.0])
FOES = Graph(4, [*combinations(range(4), 2)], [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0])


def random_graph(rng: np.random.Generator, n: int) -> tuple[Graph, int]:
    pairs = np.array([*combinations(range(n), 2)])
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.4, 0.7, 1.0])]
    kind = int(rng.integers(3))
    weights = rng.normal(size=len(edges))
    if kind == 1:
        weights = rng.integers(-3, 4, len(edges)).astype(float)
    if kind == 2:
        weights *= 10.0 ** rng.integers(-5, 6, len(edges))
    return Graph(n, edges, weights), kind


def random_wish(rng: np.random.Generator, n: int) -> dict:
    least = int(rng.integers(1, n + 1))
    most = int(rng.integers(least, n + 1))
    which = rng.integers(4)
    pairs = np.array([*combinations(range(n), 2)])
    wish = {}
    if which in (0, 2, 3):
        wish["min_clusters"] = least
    if which in (1, 2):
        wish["max_clusters"] = most
    if rng.random() < 0.4:
        wish["must_link"] = pairs[rng.integers(0, len(pairs), rng.integers(0, 2))]
    if which == 3:
        wish["cannot_link"] = pairs[rng.integers(0, len(pairs), rng.integers(0, 3))]
        wish["groups"] = rng.integers(-1, 3, n)
    return wish


def allowed(n: int, wish: dict) -> np.ndarray:
    labels = partitions(n)
    count = labels.max(axis=1) + 1
    fine = (count >= wish.get("min_clusters", 1)) & (count <= wish.get("max_clusters", n))
    for u, v in wish.get("must_link", ()):
        fine &= labels[:, u] == labels[:, v]
    for u, v in wish.get("cannot_link", ()):
        fine &= labels[:, u] != labels[:, v]
    groups = wish.get("groups", np.full(n, -1))
    for u, v in combinations(range(n), 2):
        if groups[u] == groups[v] >= 0:
            fine &= labels[:, u] != labels[:, v]
    return labels[fine]


def against_all_clusterings(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for i in range(count):
        n = int(rng.integers(2, 8))
        graph, kind = random_graph(rng, n)
        wish = random_wish(rng, n)
        possible = allowed(n, wish)
        if len(possible) == 0:
            with pytest.raises(ValueError, match=r"contradicts|leaves no more"):
                solve(graph, **wish)
            continue
        result = solve(graph, options=BARE if i % 3 == 0 else Options(), **wish)
        best = min(graph.objective(labels) for labels in possible)
        size = np.abs(graph.weights).sum()
        assert (possible == result.labels).all(axis=1).any()
        assert result.objective == pytest.approx(best, abs=1e-9 * size)
        assert result.lower_bound <= best + 1e-12 * size
        linked = "must_link" in wish or "cannot_link" in wish
        assert result.status == "optimal" or (kind == 2 and linked)
        verdict = verify(result.graph, written(result))
        assert not verdict.claims
        assert float(verdict.lower_bound) <= best + 1e-12 * size


@pytest.mark.parametrize("seed", range(4))
def test_against_all_clusterings(seed):
    against_all_clusterings(seed, 50)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_against_all_clusterings_of_thousands(seed):
    against_all_clusterings(seed, 400)


def test_rows_are_valid_and_cut_off_other_numbers():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 7))
        graph, _ = random_graph(rng, n)
        pairs, _ = completed(graph)
        k = int(rng.integers(1, n + 1))
        forests = forest_rows(graph, rng.random(graph.m), k)
        cliques = clique_rows(pairs, 0.7 + 0.3 * rng.random(pairs.m), k)
        for labels in partitions(n):
            x, y = graph.cut(labels).astype(float), pairs.cut(labels).astype(float)
            enough = int(graph.components(x == 0.0).max()) + 1 >= k
            assert (len(forest_rows(graph, x, k)) == 0) == enough
            assert not enough or (forests.violation(x) <= 0.0).all()
            few = int(labels.max()) + 1 <= k
            assert (len(clique_rows(pairs, y, k)) == 0) == few
            assert not few or (cliques.violation(y) <= 0.0).all()


def test_heuristics_keep_to_the_number():
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(100):
        n = int(rng.integers(2, 8))
        graph, _ = random_graph(rng, n)
        least = int(rng.integers(1, n + 1))
        most = int(rng.integers(least, n + 1))
        labels = counted(graph, rng.integers(0, n, n), least, most, clock=Clock(None))
        assert least <= labels.max() + 1 <= most
        possible = allowed(n, {"min_clusters": least, "max_clusters": most})
        best = min(graph.objective(p) for p in possible)
        missed += graph.objective(labels) > best + 1e-9
    assert missed < 5


def test_what_costs_nothing():
    apart = Graph(6, [(0, 1), (2, 3), (4, 5)], [-1.0, -1.0, 1.0])
    labels = np.array([0, 1, 2, 3, 4, 4])
    assert merged_freely(apart, labels, 2).max() == 1
    assert merged_freely(apart, labels, 1) is None
    assert split_freely(apart, np.zeros(6, dtype=int), 3).tolist() == [0, 0, 1, 1, 2, 2]


def test_an_optimum_that_has_it_is_returned_with_its_own_proof():
    plain = solve(PATH._with_weights(np.array([3.0, -1.0, 2.0])))
    for wish in ({"min_clusters": 2}, {"max_clusters": 2}, {"min_clusters": 2, "max_clusters": 3}):
        result = solve(plain.graph, **wish)
        assert result.labels.tolist() == plain.labels.tolist()
        assert result.certificate["proof"] == plain.certificate["proof"]


def test_clusters_that_no_edge_joins_are_put_together():
    n = 2000  # far more pairs than an LP can have
    foes = Graph(n, np.arange(n).reshape(-1, 2), np.full(n // 2, -1.0))
    result = solve(foes, max_clusters=2)
    assert result.status == "optimal"
    assert result.n_clusters == 2
    assert result.objective == -n / 2
    assert not verify(result.graph, written(result)).claims


def test_too_many_pairs_are_refused_where_they_would_be_needed():
    n = 1000
    edges = [(v, (v + d) % n) for v in range(n) for d in (1, 2, 3)]
    graph = Graph(n, edges, np.full(len(edges), -1.0))
    with pytest.raises(ValueError, match="1000 nodes have more than 50000 pairs"):
        solve(graph, max_clusters=2)


def test_exactly_so_many():
    rng = np.random.default_rng(2)
    n = 9
    pairs = np.array([*combinations(range(n), 2)])
    graph = Graph(n, pairs, rng.integers(-9, 10, len(pairs)).astype(float))
    free = solve(graph)
    costs = []
    for k in range(1, n + 1):
        result = solve(graph, min_clusters=k, max_clusters=k)
        assert result.status == "optimal"
        assert result.n_clusters == k
        assert not verify(result.graph, written(result)).claims
        costs.append(result.objective)
    assert min(costs) == free.objective
    assert costs[0] == 0.0
    assert costs[-1] == graph.weights.sum()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"min_clusters": 0}, "min_clusters must be an integer from 1 to 4, the nodes, not 0"),
        ({"max_clusters": 5}, "max_clusters must be an integer from 1 to 4, the nodes, not 5"),
        ({"max_clusters": 2.0}, r"max_clusters must be an integer .* not 2.0"),
        ({"min_clusters": True}, "min_clusters must be an integer"),
        ({"min_clusters": 3, "max_clusters": 2}, "min_clusters is 3, but max_clusters is 2"),
        (
            {"min_clusters": 3, "must_link": [(0, 1), (1, 2)]},
            "min_clusters is 3, but must_link leaves no more than 2 clusters",
        ),
    ],
)
def test_what_is_refused(wish, message):
    with pytest.raises(ValueError, match=message):
        solve(PATH, **wish)


def test_wishes_add_up():
    graph = PATH.constrained(min_clusters=2).constrained(min_clusters=3, max_clusters=4)
    assert graph.constraints.min_clusters == 3
    assert graph.constraints.max_clusters == 4
    assert solve(graph).labels.tolist() == [0, 0, 1, 2]


def test_a_clustering_to_start_from():
    result = solve(PATH, min_clusters=2, initial=[0, 0, 0, 1], options=BARE)
    assert result.initial_objective == 2.0
    assert result.initial_gap == 1.0
    result = solve(FOES, max_clusters=2, initial=[0, 1, 2, 3], time_limit=0.0)
    assert result.n_clusters <= 2
    assert result.initial_objective >= result.objective


def larger(seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    n = 100
    pairs = np.array([*combinations(range(n), 2)])
    edges = pairs[rng.random(len(pairs)) < 0.05]
    hidden = rng.integers(0, 8, n)
    same = hidden[edges[:, 0]] == hidden[edges[:, 1]]
    return Graph(n, edges, np.where(same, 2.0, -0.5) + rng.normal(size=len(edges)))


def test_many_more_clusters_than_the_optimum_has():
    graph = larger()
    free = solve(graph)
    result = solve(graph, min_clusters=free.n_clusters + 5)
    assert result.status == "optimal"
    assert result.n_clusters >= free.n_clusters + 5
    assert result.objective >= free.objective
    assert "forest" in json.dumps(result.certificate)
    assert not verify(result.graph, written(result)).claims


def test_limits_and_checkpoints(tmp_path):
    graph, file, few = larger(1), tmp_path / "solve.checkpoint", Options(max_rounds=3)
    wish = {"min_clusters": solve(graph).n_clusters + 30}
    short = solve(graph, checkpoint=file, options=few, **wish)
    again = solve(graph, checkpoint=file, options=few, time_limit=0.0, **wish)
    assert again.lower_bound >= short.lower_bound
    with pytest.raises(ValueError, match="instance"):
        solve(graph, checkpoint=file, options=few, min_clusters=2)
    within = solve(graph, gap=0.05, **wish)
    assert within.relative_gap <= 0.05
    for result in (short, again, within):
        verify(result.graph, written(result))


def test_batches_and_files(tmp_path):
    graph = PATH.constrained(min_clusters=2, max_clusters=3)
    (result,) = solve_batch([graph])
    assert result.labels.tolist() == [0, 0, 1, 1]
    write(graph, tmp_path / "g.npz")
    again = read(tmp_path / "g.npz").constraints
    assert (again.min_clusters, again.max_clusters) == (2, 3)


def test_margins_and_other_optima():
    result = solve(PATH, min_clusters=2)
    assert result.margin((1, 2)) == 1.0
    assert result.margin((0, 1)) == 2.0
    assert result.alternatives().unique
    cycle = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [1.0, 1.0, 1.0, 1.0])
    others = solve(cycle, min_clusters=2).alternatives(limit=10)
    assert len(others) == 5
    assert others.complete
    assert solve(cycle, min_clusters=4).margin((0, 1)) == np.inf


def test_the_command_line(tmp_path, capsys):
    write(PATH, tmp_path / "g.txt")
    out, certificate = tmp_path / "labels", tmp_path / "c.json"
    flags = ["--min-clusters", "2", "--max-clusters", "3"]
    command = ["solve", str(tmp_path / "g.txt"), *flags, "--quiet", "-o", str(out)]
    assert main([*command, "--certificate", str(certificate)]) == 0
    assert out.read_text() == "0\n0\n1\n1\n"
    assert main(["verify", str(tmp_path / "g.txt"), str(certificate), *flags]) == 0
    assert main(["certify", str(tmp_path / "g.txt"), str(out), *flags]) == 0
    capsys.readouterr()
    for flag, number, message in (
        ("--min-clusters", "3", "has 2 clusters, less than min_clusters = 3"),
        ("--max-clusters", "1", "has 2 clusters, more than max_clusters = 1"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["certify", str(tmp_path / "g.txt"), str(out), flag, number])
        assert message in capsys.readouterr().err


class TestForgeries:
    """Proofs that use numbers which the instance does not have, or wrongly."""

    graph = FOES.constrained(min_clusters=2, max_clusters=2)

    def certificate(self) -> dict:
        return json.loads(json.dumps(solve(self.graph, options=BARE).certificate))

    def rejected(self, certificate, match=None, graph=None):
        with pytest.raises(Rejected, match=match):
            verify(self.graph if graph is None else graph, signed_again(certificate))

    def test_of_another_instance(self):
        self.rejected(self.certificate(), graph=FOES)
        self.rejected(self.certificate(), graph=FOES.constrained(max_clusters=2))

    def test_labels_of_another_number(self):
        for labels in ([0, 1, 2, 2], [0, 0, 0, 0]):
            certificate = self.certificate()
            certificate["labels"] = labels
            certificate["objective"] = FOES.objective(labels)
            self.rejected(certificate, "there are [13] clusters")

    @pytest.mark.parametrize(
        ("row", "match"),
        [
            (["forest", 1.0, 1, 2, 0, 3], "a forest with a cycle"),
            (["forest", 1.0, 0, 0, 1], "not 4 numbers"),
            (["forest", 1.0, 0, 0, 1, 7], "not 4 numbers"),
            (["clique", 1.0, 0, 1, 1], "not different numbers"),
            (["clique", 1.0, 0, 1, 4], "not different numbers"),
            (["clique", -1.0, 0, 1, 2], "no number from"),
            (["any class", 1.0, 0], "classes where there are none"),
        ],
    )
    def test_rows_that_do_not_hold(self, row, match):
        self.rejected({**self.certificate(), "proof": {"rule": "lp", "rows": [row]}}, match)

    @pytest.mark.parametrize("row", [["forest", 1.0, 0, 0, 1, 2], ["clique", 1.0, 0, 1, 2]])
    def test_rows_where_any_number_will_do(self, row):
        certificate = written(solve(FOES))
        certificate["proof"] = {"rule": "lp", "rows": [row]}
        self.rejected(certificate, "where any number of clusters will do", FOES)

    def test_rows_of_what_presolve_leaves(self):
        rows = [["clique", 1.0, 0, 1, 2]]
        inner = {"rule": "lp", "rows": rows}
        proof = {"rule": "presolve", "steps": [], "nodes": [0, 1, 2, 3], "proof": inner}
        self.rejected({**self.certificate(), "proof": proof}, "any number")
