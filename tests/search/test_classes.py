"""Clusters with classes: the best of all, with a proof, against enumeration and other programs."""

import json
from itertools import combinations

import numpy as np
import pytest
from certificates import signed_again, written
from oracles import best_with_classes, partitions
from scipy.optimize import Bounds, LinearConstraint, milp

from bdcc_jax import Graph, Options, Rejected, read, solve, solve_batch, verify, write
from bdcc_jax.base.clock import Clock
from bdcc_jax.cli import main
from bdcc_jax.instance.terminals import TerminalGraph
from bdcc_jax.lp.rows import Rows
from bdcc_jax.primal.class_heuristics import ClassHeuristics
from bdcc_jax.separation.classes import class_rows

BARE = Options(presolve=False, heuristics=False, rounding=())
SMALL = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [2.0, 1.0, 2.0, -1.0])
COSTS = np.array([[0.0, 3.0], [1.0, 2.0], [4.0, 0.0], [2.0, 2.0]])


def values(rng: np.random.Generator, size: tuple[int, ...], kind: int) -> np.ndarray:
    if kind == 0:
        return rng.normal(size=size)
    if kind == 1:
        return rng.integers(-3, 4, size).astype(float)
    return rng.normal(size=size) * 10.0 ** rng.integers(-5, 6, size)


def random_instance(
    rng: np.random.Generator, most: int = 7
) -> tuple[Graph, np.ndarray, dict[str, np.ndarray], int]:
    """A graph, costs, perhaps links, and which kind of numbers there are."""
    n, k, kind = int(rng.integers(2, most)), int(rng.integers(1, 5)), int(rng.integers(3))
    pairs = np.array([*combinations(range(n), 2)])
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.4, 0.7, 1.0])]
    graph = Graph(n, edges, values(rng, (len(edges),), kind))
    costs = values(rng, (n, k), kind)
    if rng.random() < 0.3:
        barred = rng.random((n, k)) < 0.3
        barred[np.arange(n), rng.integers(0, k, n)] = False
        costs[barred] = np.inf
    links = {}
    if rng.random() < 0.4:
        links["must_link"] = pairs[rng.integers(0, len(pairs), rng.integers(0, 2))]
        links["cannot_link"] = pairs[rng.integers(0, len(pairs), rng.integers(0, 3))]
    return graph, costs, links, kind


def allowed(n: int, links: dict[str, np.ndarray]) -> np.ndarray:
    labels = partitions(n)
    fine = np.ones(len(labels), dtype=bool)
    for u, v in links.get("must_link", ()):
        fine &= labels[:, u] == labels[:, v]
    for u, v in links.get("cannot_link", ()):
        fine &= labels[:, u] != labels[:, v]
    return labels[fine]


def against_all_clusterings(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for i in range(count):
        graph, costs, links, kind = random_instance(rng)
        best = best_with_classes(graph, costs, allowed(graph.n, links))
        options = BARE if i % 3 == 0 else Options()
        if best == np.inf:
            with pytest.raises(ValueError, match=r"contradicts|common class"):
                solve(graph, unaries=costs, **links)
            continue
        result = solve(graph, unaries=costs, options=options, **links)
        size = np.abs(graph.weights).sum() + np.abs(costs[np.isfinite(costs)]).sum()
        assert result.objective == pytest.approx(best, abs=1e-9 * size)
        assert result.lower_bound <= best + 1e-12 * size
        # Ten orders of magnitude in one LP: what it says is true, but may be no proof.
        assert result.status == "optimal" or (kind == 2 and result.status == "numerical")
        chosen = costs[np.arange(graph.n), result.classes]
        assert result.objective == pytest.approx(
            graph.objective(result.labels) + chosen.sum(), abs=1e-9 * size
        )
        differ = result.classes[graph.edges[:, 0]] != result.classes[graph.edges[:, 1]]
        assert (result.cut | ~differ).all()
        verdict = verify(result.graph, written(result))
        assert not verdict.claims
        assert float(verdict.lower_bound) <= best + 1e-12 * size


@pytest.mark.parametrize("seed", range(4))
def test_against_all_clusterings(seed):
    against_all_clusterings(seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_against_all_clusterings_of_thousands(seed):
    against_all_clusterings(seed, 400)


def test_one_class_is_correlation_clustering_and_a_constant():
    rng = np.random.default_rng(5)
    pairs = np.array([*combinations(range(9), 2)])
    graph = Graph(9, pairs, rng.normal(size=len(pairs)))
    costs = rng.normal(size=(9, 1))
    result = solve(graph, unaries=costs)
    assert result.objective == pytest.approx(solve(graph).objective + costs.sum())
    assert result.classes.tolist() == [0] * 9


def potts(graph: Graph, costs: np.ndarray) -> float:
    """The multiway cut of an attractive graph, by its usual program: y, and x >= |y_u - y_v| / 2.

    Every class is one set of nodes there, connected or not.
    """
    (n, k), m = costs.shape, graph.m
    objective = np.concatenate([costs.ravel(), np.repeat(graph.weights / 2, k)])
    one = np.kron(np.eye(n), np.ones(k))
    rows = [np.hstack([one, np.zeros((n, m * k))])]
    for sign in (1.0, -1.0):
        difference = np.zeros((m * k, n * k))
        for e, (u, v) in enumerate(graph.edges.tolist()):
            for label in range(k):
                difference[e * k + label, u * k + label] = sign
                difference[e * k + label, v * k + label] = -sign
        rows.append(np.hstack([difference, -np.eye(m * k)]))
    result = milp(
        objective,
        constraints=[LinearConstraint(rows[0], 1, 1)]
        + [LinearConstraint(r, ub=0) for r in rows[1:]],
        integrality=np.repeat([1, 0], [n * k, m * k]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    assert result.success
    return float(result.fun)


def test_attractive_weights_are_multiway_cut():
    rng = np.random.default_rng(11)
    for _ in range(5):
        n, k = 14, 3
        pairs = np.array([*combinations(range(n), 2)])
        edges = pairs[rng.random(len(pairs)) < 0.3]
        graph = Graph(n, edges, rng.random(len(edges)))
        costs = 2.0 * rng.normal(size=(n, k))
        result = solve(graph, unaries=costs)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(potts(graph, costs), abs=1e-6)


def planar(n: int, k: int, seed: int, noise: float) -> tuple[Graph, np.ndarray]:
    """A grid of cells in objects of some classes."""
    rng = np.random.default_rng(seed)
    side = int(n**0.5)
    at = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]),
         np.column_stack([at[:-1].ravel(), at[1:].ravel()])]
    )  # fmt: skip
    row, column = np.divmod(at.ravel(), side)
    thing = row // 5 * side + column // 5
    kind = rng.integers(0, k, side * side)[thing]
    same = thing[edges[:, 0]] == thing[edges[:, 1]]
    weights = np.where(same, 1.0, -1.0) + rng.normal(0.0, noise, len(edges))
    costs = rng.normal(0.0, noise, (side * side, k))
    costs[np.arange(side * side), kind] -= 1.0
    return Graph(side * side, edges, weights), costs


def test_a_picture_of_many_superpixels():
    graph, costs = planar(900, 4, 2, 0.7)
    result = solve(graph, unaries=costs)
    assert result.status == "optimal"
    assert len(np.unique(result.classes)) == 4
    assert not verify(result.graph, result.certificate).claims
    assert "classes" in result.summary()


def test_rows_are_valid_and_cut_off_what_is_no_clustering():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(100):
        graph, costs, _, _ = random_instance(rng, 6)
        columns = TerminalGraph.of(graph, costs)
        rows = class_rows(columns, rng.random(columns.m))
        for labels in partitions(graph.n):
            if best_with_classes(graph, costs, [labels]) == np.inf:
                continue
            x = columns.cut(columns.extended(labels.astype(np.int64))).astype(float)
            assert len(class_rows(columns, x)) == 0
            assert (rows.violation(x) <= 1e-12).all()
            found += len(rows)
            x[: graph.m] = 0.0  # all edges kept: only if all classes agree
            together = Rows.concatenate([class_rows(columns, x)])
            classes = best_classes_of(costs, labels)
            u, v = graph.edges.T
            assert (len(together) > 0) == bool((classes[u] != classes[v]).any())
    assert found > 1000


def best_classes_of(costs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    best = [costs[labels == cluster].sum(axis=0).argmin() for cluster in range(labels.max() + 1)]
    return np.array(best)[labels]


def test_heuristics_never_return_what_is_impossible():
    rng = np.random.default_rng(8)
    for _ in range(50):
        graph, costs, _, _ = random_instance(rng, 9)
        columns = TerminalGraph.of(graph, costs)
        heuristics = ClassHeuristics(columns)
        search = heuristics.search(columns.extended(np.arange(graph.n)), 0)
        search.run(1e4)
        start = columns.objective(columns.extended(np.arange(graph.n)))
        assert columns.objective(search.labels) <= start
        guided = heuristics.guided(rng.random(columns.m), search.labels, Clock(None))
        assert columns.objective(guided) <= columns.objective(search.labels)
        assert np.isfinite(columns.objective(heuristics.contracted(columns.weights, Clock(None))))


@pytest.mark.parametrize(
    ("unaries", "message"),
    [
        ([0.0, 1.0], r"one row a node and one column a class, shape \(4, k\), not \(2,\)"),
        (np.zeros((3, 2)), r"shape \(4, k\), not \(3, 2\)"),
        (np.zeros((4, 0)), r"not \(4, 0\)"),
        ([["a"], ["b"], ["c"], ["d"]], "unaries must be numbers"),
        ([[np.nan], [0], [0], [0]], r"unaries\[0, 0\] is nan: a number, or inf"),
        ([[0], [-np.inf], [0], [0]], r"unaries\[1, 0\] is -inf"),
        ([[0], [0], [np.inf], [0]], r"unaries\[2\] is infinite in every class"),
    ],
)
def test_what_is_refused(unaries, message):
    with pytest.raises(ValueError, match=message):
        solve(SMALL, unaries=unaries)


def test_more_that_is_refused():
    costs = [[0, np.inf], [np.inf, 0], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match=r"without a common class, \[0, 1\]"):
        solve(SMALL, unaries=costs, must_link=[(0, 1)])
    with pytest.raises(ValueError, match="has unaries already"):
        solve(SMALL.classified(COSTS), unaries=COSTS)


def test_a_clustering_to_start_from():
    result = solve(SMALL, unaries=COSTS, initial=[0, 0, 0, 0], options=BARE)
    assert result.initial_objective == 7.0
    assert result.initial_gap == pytest.approx(7.0 - result.objective)
    costs = np.where(np.eye(4, 2) > 0, np.inf, COSTS)
    result = solve(SMALL, unaries=costs, initial=[0, 0, 0, 0], time_limit=0.0)
    assert np.isfinite(result.initial_objective)


def test_limits_and_checkpoints(tmp_path):
    graph, costs = planar(400, 3, 1, 1.2)
    file, few = tmp_path / "solve.checkpoint", Options(max_rounds=2)
    short = solve(graph, unaries=costs, checkpoint=file, options=few)
    assert short.status == "max_rounds"
    again = solve(graph, unaries=costs, checkpoint=file, options=few, time_limit=0.0)
    assert again.lower_bound >= short.lower_bound
    with pytest.raises(ValueError, match="instance"):
        solve(graph, unaries=costs + 1.0, checkpoint=file, options=few)
    within = solve(graph, unaries=costs, gap=0.05)
    assert within.relative_gap <= 0.05
    for result in (short, within):
        verify(result.graph, written(result))


def test_small_numbers():
    tiny = 2.0**-1060
    plain = solve(SMALL, unaries=COSTS)
    result = solve(SMALL._with_weights(tiny * SMALL.weights), unaries=tiny * COSTS)
    assert result.objective == tiny * plain.objective
    assert result.status == "optimal"
    assert not verify(result.graph, written(result)).claims


def test_batches_files_and_progress(tmp_path):
    graph, seen = SMALL.classified(COSTS), []
    result = solve(graph, callback=lambda state: seen.append(len(state.labels)) or False)
    assert set(seen) <= {4}
    (other,) = solve_batch([graph])
    assert other.classes.tolist() == result.classes.tolist() == [0, 0, 1, 1]
    write(graph, tmp_path / "g.npz")
    assert np.array_equal(read(tmp_path / "g.npz").unaries, COSTS)
    assert result.to_dict()["classes"] == [0, 0, 1, 1]
    assert solve(SMALL).classes is None


def test_other_optima_and_margins():
    rng = np.random.default_rng(4)
    for _ in range(5):
        n = 5
        pairs = np.array([*combinations(range(n), 2)])
        graph = Graph(n, pairs, rng.integers(-2, 3, len(pairs)).astype(float))
        costs = rng.integers(0, 3, (n, 2)).astype(float)
        result = solve(graph, unaries=costs)
        price = {tuple(p): best_with_classes(graph, costs, [p]) for p in partitions(n).tolist()
                 for p in [np.array(p)]}  # fmt: skip
        best = min(price.values())
        optimal = {tuple(graph.cut(p)) for p, cost in price.items() if cost == best}
        others = result.alternatives(limit=50)
        assert others.complete
        assert len(others) == len(optimal) - 1
        u, v = rng.choice(n, 2, replace=False).tolist()
        together = result.labels[u] == result.labels[v]
        otherwise = min(c for p, c in price.items() if (p[u] == p[v]) != together)
        assert result.margin((u, v)) == pytest.approx(otherwise - best, abs=1e-9)


def test_the_command_line(tmp_path, capsys):
    write(SMALL, tmp_path / "g.txt")
    np.save(tmp_path / "costs.npy", COSTS)
    lines = [f"{v} {' '.join(map(str, row))}\n" for v, row in enumerate(COSTS.tolist())]
    (tmp_path / "costs.txt").write_text("".join(reversed(lines)))
    for name in ("costs.npy", "costs.txt"):
        out, certificate = tmp_path / f"{name}.classes", tmp_path / f"{name}.json"
        flags = ["--unaries", str(tmp_path / name)]
        command = ["solve", str(tmp_path / "g.txt"), *flags, "--quiet"]
        assert main([*command, "--classes", str(out), "--certificate", str(certificate)]) == 0
        assert out.read_text() == "0\n0\n1\n1\n"
        assert main(["verify", str(tmp_path / "g.txt"), str(certificate), *flags]) == 0
        assert main(["verify", str(tmp_path / "g.txt"), str(certificate)]) == 1
    capsys.readouterr()
    for name, content, message in (
        ("missing", "0 1 2\n", "there is no line for node 1"),
        ("twice", "0 1 2\n0 1 2\n", "line 2: node '0' has costs already"),
        ("uneven", "0 1 2\n1 1\n", "line 2: expected 2 costs, as before, not 1"),
        ("word", "0 1 x\n", "line 1: could not convert string to float: 'x'"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(SystemExit, match="2"):
            main(["solve", str(tmp_path / "g.txt"), "--unaries", str(tmp_path / name)])
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["solve", str(tmp_path / "g.txt"), "--classes", str(tmp_path / "c")])
    assert "there are no classes; --unaries" in capsys.readouterr().err
    (tmp_path / "labels").write_text("0\n0\n0\n0\n")
    np.save(tmp_path / "barred.npy", np.where(np.eye(4, 2) > 0, np.inf, COSTS))
    command = ["certify", str(tmp_path / "g.txt"), str(tmp_path / "labels"), "--unaries"]
    with pytest.raises(SystemExit, match="2"):
        main([*command, str(tmp_path / "barred.npy")])
    assert "has a cluster that can have no class" in capsys.readouterr().err


class TestForgeries:
    """Proofs that use classes as they must not be used."""

    graph = SMALL.classified(COSTS)

    def certificate(self) -> dict:
        return json.loads(json.dumps(solve(self.graph, options=BARE).certificate))

    def rejected(self, certificate, match=None, graph=None):
        with pytest.raises(Rejected, match=match):
            verify(self.graph if graph is None else graph, signed_again(certificate))

    def test_of_another_instance(self):
        self.rejected(self.certificate(), graph=SMALL)
        self.rejected(self.certificate(), graph=SMALL.classified(COSTS[:, ::-1]))

    def test_classes_that_the_labels_do_not_have(self):
        certificate = self.certificate()
        certificate["classes"] = [0, 1, 1, 1]
        self.rejected(certificate, "a cluster has no class")
        del certificate["classes"]
        self.rejected(certificate)

    def test_classes_that_nodes_cannot_have(self):
        costs = COSTS.copy()
        costs[0, 1] = np.inf
        graph = SMALL.classified(costs)
        certificate = written(solve(graph))
        certificate["classes"] = [1 - label for label in certificate["classes"]]
        self.rejected(certificate, "a cluster has no class", graph)

    @pytest.mark.parametrize(
        "rows",
        [
            [["cycle", 1.0, 0, 1, 4]],  # a class is on no cycle
            [["wheel", 1.0, 4, 0, 1, 2]],
            [[2, 1.0, 0, 1, 4, 5]],
            [["one class", 1.0, 4]],
            [["any class", 1.0, 0, 1]],
            [["class", 1.0, 0, 4, 5]],
            [["class", 1.0, 0, 0, 5]],
            [["class", -1.0, 0, 1, 5]],
            [["forest", 1.0, 0, 0, 1, 2, 4, 5]],
            [["clique", 1.0, 0, 1, 2]],
        ],
    )
    def test_rows_that_do_not_hold(self, rows):
        self.rejected({**self.certificate(), "proof": {"rule": "lp", "rows": rows}})

    @pytest.mark.parametrize(
        "proof",
        [
            {"rule": "enumeration"},
            {"rule": "presolve", "steps": [], "nodes": [0, 1, 2, 3, 4, 5], "proof": None},
            {"rule": "lp", "rows": [], "part": [0, 0, 0, 0, 0, 0], "proofs": {}},
        ],
    )
    def test_rules_for_plain_instances(self, proof):
        self.rejected({**self.certificate(), "proof": proof}, "beside classes")

    def test_rows_of_classes_without_any(self):
        certificate = written(solve(SMALL))
        certificate["proof"] = {"rule": "lp", "rows": [["any class", 1.0, 0]]}
        self.rejected(certificate, "classes where there are none", SMALL)
