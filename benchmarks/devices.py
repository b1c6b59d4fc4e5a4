"""The same solve on every device, and how many subproblems a second a device solves."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import jax

from bdcc_jax import Graph, Options, PDLPOptions
from bdcc_jax.base import compilation_cache
from bdcc_jax.doctor.kernels import TURNS as CALL_TURNS
from bdcc_jax.doctor.kernels import Call, ascent_programs, planar
from bdcc_jax.doctor.model import Span
from bdcc_jax.separation.device.balls import NODES
from bdcc_jax.separation.device.batched import LANES, Settings, solve_batch
from bdcc_jax.separation.device.flow_lps import INNER, Problems

from . import lp_solvers
from .card_model import BANDWIDTH, CARD_NAMES, LARGE, TURNS, lp_seconds, turn_seconds
from .instances import Instance
from .markdown import table
from .methods import Method, Outcome, bdcc
from .plots import grid, save
from .pool import some, subproblems
from .runs import Job
from .store import Record

TITLE = "Devices"
PHASES = ("master", "detection", "subproblems", "rounding")
BATCHES = tuple(4**i for i in range(7))
REPEATS = 3
HIGHS_LPS = 256
THROUGHPUT = "subproblems on "
SWEEP = "ascent: sweep"
NO_GPU = "JAX sees no GPU here: the CPU part only."

NOTE = f"""\
Without presolve, the second of two runs, so without compilation. The master is always HiGHS' on
the CPU. Throughput: flow LPs of the first, middle and last round, {NODES} nodes each, best of
{REPEATS}, with the way to the device and back and the decomposition into paths; HiGHS solves the
same LPs one after another on one core."""


def all_devices() -> list[jax.Device]:
    """The CPU (once) and every GPU."""
    found = {device.id: device for device in jax.local_devices() if device.platform != "cpu"}
    return [jax.local_devices(backend="cpu")[0], *found.values()]


def name_of(device: jax.Device) -> str:
    """As ``solve`` wants it."""
    return f"{device.platform}:{device.id}"


def jobs(instances: list[Instance]) -> list[Job]:
    """Every engine on every device that it runs on, and the throughput of every device."""
    found = all_devices()
    methods = [method for device in found for method in (*solves(device), throughput(device))]
    return [(each, method) for each in instances for method in methods]


def solves(device: jax.Device) -> list[Method]:
    """``solve`` with every engine that runs on a device."""
    engines = ("packing", "reference") if device.platform == "cpu" else ()
    return [
        _second_run(
            bdcc(f"{engine} on {name_of(device)}", Options(engine=engine, presolve=False), device)
        )
        for engine in (*engines, "pdlp")
    ]


def _second_run(method: Method) -> Method:
    def run(graph: Graph, time_limit: float) -> Outcome:
        method.run(graph, time_limit)
        return method.run(graph, time_limit)

    return replace(method, run=run, warm_up=False)


def throughput(device: jax.Device) -> Method:
    """Batches of subproblems of one instance, ever larger."""

    def run(graph: Graph, time_limit: float) -> Outcome:
        compilation_cache.enable()
        begin = time.perf_counter()
        problems = subproblems(graph)
        few = lp_solvers.FlowLPs.of(some(problems, slice(HIGHS_LPS)))
        highs = lp_solvers.highs(few)[0] / len(few)
        sizes = [size for size in BATCHES if size <= len(problems.supply)]
        measured = []
        for size in sizes:
            seconds = _measure(some(problems, slice(size)), device)
            measured.append({"batch": size, "seconds": seconds})
            if time.perf_counter() - begin > time_limit:
                break
        return {
            "status": "done",
            "objective": None,
            "lower_bound": None,
            "seconds": time.perf_counter() - begin,
            "history": [],
            "highs_seconds": highs,
            "throughput": measured,
        }

    return Method(THROUGHPUT + name_of(device), run, {"ball": NODES}, warm_up=False)


def _measure(problems: Problems, device: jax.Device) -> float:
    seconds, settings = [], Settings(1, 0.0, False, PDLPOptions().iterations // INNER)
    for _ in range(1 + REPEATS):
        begin = time.perf_counter()
        solve_batch(problems, settings, (device,), 2**31)
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])


def modelled(batch: int, card: str) -> Span:
    """Seconds for so many LPs on a card, by the model: in calls with as many lanes as suffice."""
    sizes = LANES["gpu"]
    lanes = min((size for size in sizes if size >= batch), default=sizes[-1])
    return lp_seconds(share=lanes / sizes[-1], card=card) * -(-batch // lanes)


def sweep_seconds(device: jax.Device, nodes: int) -> float:
    """Measured seconds of a sweep of the dual ascent on a planar instance, best of some calls."""
    seconds: list[float] = []

    def visit(call: Call) -> None:
        if call.name != SWEEP:
            return
        arguments = jax.device_put(call.arguments, device)
        for _ in range(1 + REPEATS):
            begin = time.perf_counter()
            jax.block_until_ready(call.function(*arguments, **call.statics))
            seconds.append((time.perf_counter() - begin) / CALL_TURNS)

    ascent_programs(visit, planar(nodes))
    return min(seconds[1:])


def modelled_sweep(nodes: int, card: str) -> Span:
    """The same on a card, by the model."""
    return turn_seconds(SWEEP, nodes / int(LARGE), card)


def report(runs: list[Record], out: Path) -> str:
    """Phases by device, and throughput by batch size."""
    solves = [run for run in runs if " on " in run["method"] and "timings" in run]
    batches = [run for run in runs if run["method"].startswith(THROUGHPUT)]
    if not solves and not batches:
        return "No runs are stored."
    devices = {name for run in [*solves, *batches] for name in run["machine"]["devices"]}
    seen = any("cpu" not in name.lower() for name in devices)
    headings = ["instance", "engine and device", *(f"{p} s" for p in PHASES), "total s", "rounds"]
    lines = [
        [
            run["instance"],
            run["method"],
            *(f"{run['timings'].get(phase, 0.0):.3f}" for phase in PHASES),
            f"{run['seconds']:.3f}",
            f"{len(run['history'])} ({run['status']})",
        ]
        for run in sorted(solves, key=lambda run: run["instance"])
    ]
    parts = [NOTE if seen else f"{NO_GPU} {NOTE}", table(headings, lines)]
    if batches:
        parts += [_throughput_table(batches), draw(batches, out)]
    parts.append(_model())
    return "\n\n".join(parts)


def _model() -> str:
    """What the card would do by the model, from compiled programs."""
    batches = [lp_seconds(card=card) for card in BANDWIDTH]
    lines = [
        *([name, *(turn_seconds(name, card=card) for card in BANDWIDTH)] for name in TURNS),
        [f"{LANES['gpu'][-1]} LPs", *batches],
        ["LPs a second", *(f"{LANES['gpu'][-1] / batch.most:,.0f}" for batch in batches)],
    ]
    headings = [
        "a model, not measured: planar 1,000,000",
        *(f"{card}, a turn" for card in BANDWIDTH),
    ]
    return table(headings, lines)


def _throughput_table(batches: list[Record]) -> str:
    headings = ["LPs of", "device", "batch", "LPs a second", "ms an LP", "HiGHS ms"]
    return table(
        headings,
        [
            [
                run["instance"],
                run["method"].removeprefix(THROUGHPUT),
                point["batch"],
                f"{point['batch'] / point['seconds']:,.0f}",
                f"{1e3 * point['seconds'] / point['batch']:.3f}",
                f"{1e3 * run['highs_seconds']:.3f}",
            ]
            for run in batches
            for point in run["throughput"]
        ],
    )


def draw(batches: list[Record], out: Path) -> str:
    """LPs a second over the batch size, a line a device."""
    figure, axes = grid(1, 1, width=5.6, height=4.0)
    panel = axes[0, 0]
    for i, run in enumerate(batches):
        sizes = [point["batch"] for point in run["throughput"]]
        speed = [point["batch"] / point["seconds"] for point in run["throughput"]]
        label = f"{run['method'].removeprefix(THROUGHPUT)}, {run['instance']}"
        panel.plot(sizes, speed, "o-", color=f"C{i}", label=label)
        panel.axhline(
            1 / run["highs_seconds"], color=f"C{i}", linestyle="--", label="HiGHS, one by one"
        )
    for card, style in zip(BANDWIDTH, ("--", ":"), strict=True):
        speed = [batch / modelled(batch, card).most for batch in BATCHES]
        panel.plot(BATCHES, speed, style, color="black", label=f"{CARD_NAMES[card]}, a model")
    panel.set(
        xscale="log", yscale="log", xlabel="subproblems in a batch", ylabel="subproblems a second"
    )
    panel.set_xscale("log", base=2)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    return save(figure, out / "devices.png")
