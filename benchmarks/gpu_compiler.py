"""XLA's real compiler for NVIDIA cards, on a machine that has none: kernels, bytes, memory.

    python -m benchmarks.gpu_compiler                    # a table
    python -m benchmarks.gpu_compiler --write            # and benchmarks/gpu_programs.json
    python -m benchmarks.gpu_compiler --plugin FOLDER    # keep the plug-in there (0.6 GB)

JAX' plug-in for CUDA is installed into a folder of its own, in the version of the JAX at hand, and
only a child of this process sees it: where there is no card, it would complain to everybody else.
The child gives XLA the description of a card in place of a card. What comes out is the program
that the card would run; nothing has run on one. The versions of driver and runtime in the
description matter: without them XLA does not use what they can do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax

from bdcc_jax.doctor.kernels import Call, tour
from bdcc_jax.doctor.program import Program

from .card_model import FILE, loop_of
from .markdown import print_header, print_row

ROOT = Path(__file__).parent.parent
NODES = (16_384, 1_000_000)
"""Of planar instances: one that fits into the cache of a card, and one that does not."""

PACKAGES = ("jax-cuda12-plugin=={0}", "jax-cuda12-pjrt=={0}", "nvidia-cuda-nvcc-cu12")

CARD = """
gpu_device_info {{
  threads_per_block_limit: 1024  threads_per_warp: 32  shared_memory_per_block: 49152
  shared_memory_per_core: {shared}  threads_per_core_limit: 2048  core_count: {cores}
  fpus_per_core: {fpus}  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535
  block_dim_limit_z: 65535  memory_bandwidth: {bandwidth}  l2_cache_size: {cache}
  clock_rate_ghz: {clock}  device_memory_size: 85100068864
  shared_memory_per_block_optin: {optin}  cuda_compute_capability {{ major: {major} }}
  registers_per_core_limit: 65536  registers_per_block_limit: 65536  driver_version: "13.0.0"
  runtime_version: "12.8.0"  compile_time_toolkit_version: "12.8.0"  dnn_version: "9.10.0"
}}
platform_name: "CUDA"  dnn_version_info {{ major: 9 minor: 8 }}
runtime_version {{ major: 12 minor: 8 }}  device_description_str: "{name}"
"""

CARDS = {
    "sm_80": CARD.format(
        name="NVIDIA A100-SXM4-80GB", major=8, cores=108, fpus=64, clock=1.41, shared=167936,
        optin=166912, cache=41943040, bandwidth=2039040000000,
    ),
    "sm_90": CARD.format(
        name="NVIDIA H100 80GB HBM3", major=9, cores=132, fpus=128, clock=1.98, shared=233472,
        optin=232448, cache=52428800, bandwidth=3352320000000,
    ),
}  # fmt: skip

WHOLE_LOOPS = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,WHILE,"
    "CONDITIONAL"
}
"""Options of the compiler with which a loop is one CUDA graph, even if the data end it."""


class Unavailable(Exception):
    """The plug-in cannot be installed here; says why."""


def install(folder: Path) -> None:
    """Put the plug-in into a folder, unless it is there."""
    if (folder / "jax_plugins").exists():
        return
    packages = [package.format(jax.__version__) for package in PACKAGES]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run([*command, str(folder), *packages], capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Unavailable("pip: " + " ".join(lines or done.stderr.splitlines()[-1:]))


def compiled_programs(folder: Path, *arguments: str) -> dict[str, Any]:
    """What the compiler says, from a child that sees the plug-in in a folder."""
    install(folder)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "JAX_PLATFORMS": "cpu",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-m", "benchmarks.gpu_compiler", "--child", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the compiler failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def card(name: str) -> Any:
    """A device to compile for, and for nothing else."""
    from jax.experimental import topologies

    description = topologies.get_topology_desc(
        platform="cuda", target_config=CARDS[name], topology="1x1x1"
    )
    return description.devices[0]


def compile_call(call: Call, device: Any, options: dict[str, str] | None = None) -> Any:
    """Compile a program for the shapes of its arguments."""
    from jax.sharding import SingleDeviceSharding

    sharding = SingleDeviceSharding(device)
    with jax.enable_x64(call.x64):
        shapes = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), call.arguments
        )
        lowered = call.function.trace(*shapes, **call.statics).lower()
        return lowered.compile(compiler_options=options)


def describe(compiled: Any, call: Call) -> dict[str, Any]:
    """What is asked of a compiled program, ready for JSON."""
    program, memory = Program(compiled.as_text()), compiled.memory_analysis()
    return {
        "program": asdict(program.whole),
        "turns": list(call.turns),
        "sorts": program.count("sort"),
        "custom_calls": program.targets,
        "host": program.count("infeed") + program.count("outfeed") + program.count("send"),
        "arguments": memory.argument_size_in_bytes,
        "results": memory.output_size_in_bytes - memory.alias_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "memory": call.memory,
    }


def ask(nodes: int, name: str) -> dict[str, Any]:
    """Compile every program for a card, on a planar instance of a given size."""
    device, found = card(name), {}

    def visit(call: Call) -> Any:
        found[call.name] = describe(compile_call(call, device), call)
        with jax.enable_x64(call.x64):
            return jax.eval_shape(call.bound(), *call.arguments)

    tour(visit, device, nodes)
    return found


def in_one_graph(name: str) -> dict[str, int]:
    """Kernels of programs that were compiled with :data:`WHOLE_LOOPS`: that it can be done."""
    device, found = card(name), {}

    def visit(call: Call) -> Any:
        whole = Program(compile_call(call, device, WHOLE_LOOPS).as_text()).whole
        found[call.name] = sum(loop.turn.kernels for loop in (whole, *whole.loops))
        with jax.enable_x64(call.x64):
            return jax.eval_shape(call.bound(), *call.arguments)

    tour(visit, device, NODES[0])
    return found


def child(nodes: list[int], whole_loops: bool) -> None:
    """Print one line of JSON."""
    programs = {str(n): {name: ask(n, name) for name in CARDS} for n in nodes}
    found = {"jax": jax.__version__, "programs": programs}
    if whole_loops:
        found["whole_loops"] = {name: in_one_graph(name) for name in CARDS}
    print(json.dumps(found))


def print_table(found: dict[str, Any]) -> None:
    print_header(
        ("nodes", "card", "program", "kernels a call", "kernels a turn, by loop", "MB a turn",
         "MB in sectors", "sorts", "custom calls", "memory MB", "reckoned MB")
    )  # fmt: skip
    for nodes, cards in found["programs"].items():
        for name, programs in cards.items():
            for program, facts in programs.items():
                whole = loop_of(facts["program"])
                loops = whole.loops
                used = facts["arguments"] + facts["results"] + facts["temporary"]
                print_row(
                    nodes, name, program, whole.turn.kernels, _joined(loops, "kernels", 1),
                    _joined(loops, "moved", 1e6), _joined(loops, "sectors", 1e6), facts["sorts"],
                    len(facts["custom_calls"]), f"{used / 1e6:.1f}",
                    "" if facts["memory"] is None else f"{facts['memory'] / 1e6:.1f}",
                )  # fmt: skip


def _joined(loops: list[Any], what: str, unit: float) -> str:
    return ", ".join(f"{getattr(loop.turn, what) / unit:.4g}" for loop in loops)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plugin", type=Path, metavar="FOLDER", help="where the plug-in is kept")
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    parser.add_argument("--whole-loops", action="store_true", help="also with loops as CUDA graphs")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.nodes, arguments.whole_loops)
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = compiled_programs(
            arguments.plugin or Path(scratch), "--nodes", *map(str, arguments.nodes)
        )
    if arguments.write:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print_table(found)


if __name__ == "__main__":
    main()
