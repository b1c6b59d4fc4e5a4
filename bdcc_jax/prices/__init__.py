"""Bounds by prices of nodes: no cluster is worth more than its nodes' prices together."""
