"""What networkx is told about its backend ``bdcc_jax``: outside of the package.

networkx asks for it whenever it is imported, and the import of the package takes a second or two.
The backend itself is :mod:`bdcc_jax.graphs.networkx_backend`.
"""

from __future__ import annotations

from typing import Any

TIME_LIMIT = 60.0

OPTIMAL = (
    "Not what the heuristic of this name finds: the communities of largest modularity, proven,\n"
    "or the best that were found by the time limit, with a warning that says how much more\n"
    "modularity there can be. Practical for some hundred nodes."
)

EXTRA = {
    "time_limit": "float, optional (default: nx.config.backends.bdcc_jax.time_limit, "
    f"which is {TIME_LIMIT:g} seconds, or None for no limit)"
}

IGNORED = {
    "louvain_communities": "`threshold` and `seed` change nothing; `max_level` must be None.",
    "leiden_communities": "`seed` changes nothing; `max_level` must be None.",
    "greedy_modularity_communities": "`cutoff` must be 1, and `best_n` None.",
    "naive_greedy_modularity_communities": "",
}


def get_info() -> dict[str, Any]:
    """Return the functions and settings of the backend.

    Examples
    --------
    >>> sorted(get_info()["functions"])[1:3]
    ['leiden_communities', 'louvain_communities']
    """
    return {
        "backend_name": "bdcc_jax",
        "project": "bdcc-jax",
        "package": "bdcc_jax",
        "short_summary": "Exact community detection: largest modularity, with a proof.",
        "default_config": {"time_limit": TIME_LIMIT},
        "functions": {
            name: {
                "additional_docs": f"{OPTIMAL}\n{ignored}".strip(),
                "additional_parameters": EXTRA,
            }
            for name, ignored in IGNORED.items()
        },
    }
