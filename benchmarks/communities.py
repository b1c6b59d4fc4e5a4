"""Exact communities beside Louvain and Leiden: modularity, the bound on it, and times.

    python -m benchmarks.communities

Zachary's karate club, Les Miserables, Florentine families and LFR graphs, all made by networkx.
Louvain is that of networkx; Leiden that of leidenalg (GPL; a column is left empty where it is not
installed, and it is no dependency). The heuristics get ten seeds: the mean and the best of these
are shown, with the seconds of all ten. "planted" are the communities that an LFR graph was made of.
"of no partition above" is what our lower bound proves; in brackets what is left unproven. Seconds
are those of the processor, the time limit is by the clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np

from bdcc_jax import solve
from bdcc_jax.graphs import modularity, modularity_graph

from .markdown import print_header, print_row

SEEDS = 10
MIXING = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""The share of an LFR node's edges that leave its community."""


def lfr(n: int, mixing: float) -> nx.Graph:
    """An LFR graph of mean degree 8, without self-loops; of the first seed that gives one."""
    for seed in range(100):
        try:
            G = nx.LFR_benchmark_graph(
                n, 3, 1.5, mixing, average_degree=8, max_degree=n // 8, min_community=15, seed=seed
            )
        except nx.ExceededMaxIterations:
            continue
        G.remove_edges_from(list(nx.selfloop_edges(G)))
        plain = nx.Graph(G.edges)
        nx.set_node_attributes(plain, nx.get_node_attributes(G, "community"), "community")
        return plain
    raise SystemExit(f"no LFR graph of {n} nodes and mixing {mixing} in 100 seeds")


def graphs(n: int, mixing: Iterable[float]) -> dict[str, Callable[[], nx.Graph]]:
    """By name, how to make them."""
    found: dict[str, Callable[[], nx.Graph]] = {
        "karate": lambda: nx.Graph(nx.karate_club_graph().edges),
        "karate, weights": nx.karate_club_graph,
        "Les Miserables": lambda: nx.Graph(nx.les_miserables_graph().edges),
        "Les Miserables, weights": nx.les_miserables_graph,
        "Florentine families": nx.florentine_families_graph,
    }
    for mu in mixing:
        found[f"LFR {n}, mixing {mu}"] = lambda mu=mu: lfr(n, mu)  # type: ignore[misc]
    return found


def planted(G: nx.Graph) -> str:
    """The modularity of the communities that an LFR graph was made of."""
    found = {frozenset(part & set(G)) for _, part in G.nodes(data="community") if part}
    return f"{nx.community.modularity(G, found):.5f}" if found else ""


def louvain(G: nx.Graph, seed: int) -> float:
    """The modularity that networkx' Louvain finds."""
    return float(nx.community.modularity(G, nx.community.louvain_communities(G, seed=seed)))


def leiden(G: nx.Graph, seed: int) -> float:
    """The modularity that leidenalg finds, going on until nothing improves."""
    import igraph
    import leidenalg

    graph = igraph.Graph.from_networkx(G)
    weights = [data.get("weight", 1) for *_, data in G.edges(data=True)]
    found = leidenalg.find_partition(
        graph, leidenalg.ModularityVertexPartition, weights=weights, n_iterations=-1, seed=seed
    )
    nodes = list(G)
    return float(nx.community.modularity(G, [{nodes[i] for i in part} for part in found]))


def heuristic(run: Callable[[nx.Graph, int], float], G: nx.Graph) -> str:
    """Mean and best of some seeds, and seconds."""
    start = time.process_time()
    try:
        values = [run(G, seed) for seed in range(SEEDS)]
    except ImportError:
        return ""
    seconds = time.process_time() - start
    return f"{np.mean(values):.5f}, {max(values):.5f} ({seconds:.2f} s)"


def exact(G: nx.Graph, time_limit: float) -> tuple[Any, ...]:
    """Modularity, what no partition exceeds, communities, and seconds."""
    start = time.process_time()
    result = solve(modularity_graph(G), time_limit=time_limit)
    seconds = time.process_time() - start
    value, bound = (modularity(G, x) for x in (result.objective, result.lower_bound))
    proof = "proven" if result.status == "optimal" else f"{bound:.5f} ({bound - value:.5f})"
    return f"{value:.5f}", proof, result.n_clusters, f"{seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time-limit", type=float, default=60.0, help="of a solve (%(default)s s)")
    parser.add_argument("--nodes", type=int, default=250, help="of LFR graphs (%(default)s)")
    parser.add_argument("--mixing", type=float, nargs="*", default=MIXING)
    arguments = parser.parse_args()
    solve(modularity_graph(nx.barbell_graph(5, 0)))  # compiles
    print_header(
        (
            "graph",
            "nodes, edges",
            "planted",
            "Louvain: mean, best of 10",
            "Leiden: mean, best of 10",
            "exact",
            "of no partition above",
            "communities",
            "s",
        )
    )
    for name, make in graphs(arguments.nodes, arguments.mixing).items():
        G = make()
        size = f"{len(G)}, {G.number_of_edges()}"
        found = exact(G, arguments.time_limit)
        print_row(name, size, planted(G), heuristic(louvain, G), heuristic(leiden, G), *found)


if __name__ == "__main__":
    main()
