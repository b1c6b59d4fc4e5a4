"""Whatever is stopped comes back at once, with something valid, and claims nothing."""

from itertools import pairwise

import jax
import numpy as np
import pytest
from alarms import CountingClock, set_alarm
from oracles import planar, random_graph, wheel, wheel_solution

from bdcc_jax import Graph, Options, PDLPOptions, cover, solve
from bdcc_jax.clock import Clock, TimeLimitReached
from bdcc_jax.cover import vertex_cover
from bdcc_jax.heuristics import (
    fuse,
    fusion,
    greedy_additive,
    kernighan_lin,
    local_search,
    lp_guided,
)
from bdcc_jax.subproblems import bellman_ford, cell_packing, device_packing, kernels, reduction
from bdcc_jax.subproblems import flow_network as networks
from bdcc_jax.subproblems import odd_wheels, packing, restriction, violations
from bdcc_jax.subproblems.batched import Batch, BatchedSolver
from bdcc_jax.subproblems.device_finder import DeviceFinder
from bdcc_jax.subproblems.dijkstra import DijkstraFinder
from bdcc_jax.subproblems.engine import FlowEngine
from bdcc_jax.subproblems.odd_wheels import violated_wheels
from bdcc_jax.subproblems.packing import PackingEngine
from bdcc_jax.subproblems.path_search import network
from bdcc_jax.subproblems.reduction import reduce_flows
from bdcc_jax.subproblems.reference import ReferenceSolver
from bdcc_jax.subproblems.restriction import restrict
from bdcc_jax.subproblems.violations import violated_cycles, violated_edges
