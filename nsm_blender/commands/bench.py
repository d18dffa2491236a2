# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender bench`: how fast the network, the controller and a whole bake are on this machine."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import UserError
from ..evaluation import bench_geometry, bench_manifold, bench_nsm, bench_rig
from ..evaluation.bench import measure_apart
from ..files.writing import check_writable, write_whole
from ..models.pfnn_kernels import PFNN
from ..paths import weights_folder
from ..rollout.nsm_network import FILE as NSM_FILE

if TYPE_CHECKING:
    from . import Subparsers

_TOOLS = Path(__file__).resolve().parents[2] / "tools"
"""Folder of the programs that build and measure the extension, which only a clone has."""

MEANINGS = {
    "bench.pfnn.frame_ms": ("ms", "PFNN network, one frame, one thread"),
    "bench.pfnn.frame_ms.linear": ("ms", "  the same, linear between 10 tables"),
    "bench.pfnn.frame_ms.constant": ("ms", "  the same, nearest of 50 tables"),
    "bench.pfnn.memory_mb": ("MB", "weights in memory"),
    "bench.pfnn.memory_mb.linear": ("MB", "  10 tables"),
    "bench.pfnn.memory_mb.constant": ("MB", "  50 tables"),
    "bench.pfnn.step_ms": ("ms", "whole controller step, one thread"),
    "bench.pfnn.batch200_frame_ms": ("ms", "network for 200 characters, one frame, one thread"),
    "bench.nsm.frame_ms": ("ms", "NSM network, one frame, one thread"),
    "bench.nsm.step_ms": ("ms", "  a step in a furnished room, sensors included"),
    "bench.manifold.walk_60s.footsteps": ("s", "manifold, footsteps of 60 s of walking, two threads"),
    "bench.manifold.walk_60s.synthesis": ("s", "  synthesis of its poses"),
    "bench.manifold.walk_60s.planted": ("s", "  the whole, feet planted"),
    "bench.manifold.walk_60s.editing": ("s", "  its constraints: feet, path, floor, bones"),
    "bench.manifold.punch_4s.synthesis": ("s", "manifold, a punch in 4 s"),
    "bench.manifold.punch_4s.editing": ("s", "  its constraints"),
    "bench.manifold.punch_4s.total": ("s", "  both"),
    "bench.manifold.style_8s.total": ("s", "manifold, style of 8 s"),
    "bench.manifold.style_8s.operator": ("s", "  in Blender, from button to keys, one thread"),
    "bench.manifold.crowd_200x10s.total": ("s", "manifold, 200 characters for 10 s"),
    "bench.voxels.100k_s": ("s", "100,000 triangles to cuboids of 4 cm, one thread"),
    "bench.voxels.1m_s": ("s", "  a scan of 1,000,000"),
    "bench.voxels.1m_mb": ("MB", "  largest memory of the process meanwhile"),
    "bench.sensors.frame_ms": ("ms", "both sensors in a room of 60 moving things"),
    "bench.sensors.cuboids": ("", "  cuboids of the room"),
    "bench.route.hall_s": ("s", "a way through a hall of 60 things, 20 x 20 m"),
    "bench.rig.to_ms": ("ms", "600 frames to a rig, one thread"),
    "bench.rig.from_ms": ("ms", "  and back"),
    "bench.steps.pfnn_ms": ("ms", "longest piece of work: PFNN, 600 s, one thread"),
    "bench.steps.check_ms": ("ms", "  check of 40 keys"),
    "bench.steps.nsm_ms": ("ms", "  NSM, 120 s"),
    "bench.steps.synthesis_ms": ("ms", "  synthesis of 300 s"),
    "bench.steps.crowd_ms": ("ms", "  crowd of 20 for 10 s"),
    "bench.steps.strikes_ms": ("ms", "  14 punches in 60 s"),
    "bench.steps.edit_ms": ("ms", "  edit of 300 s"),
    "bench.steps.style_ms": ("ms", "  style of 300 s"),
    "bench.steps.body_ms": ("ms", "  300 s onto a rig with a mesh"),
    "bench.steps.back_ms": ("ms", "  300 s read back from a rig"),
    "bench.steps.cuboids_ms": ("ms", "  1,000,000 triangles to cuboids"),
    "bench.steps.role_ms": ("ms", "  and the guess of their role"),
    "bench.keys.per_second": ("keys/s", "keys written into an action"),
    "bench.bake_10s.seconds": ("s", "10 s shot, from button to keys"),
    "bench.bake_10s.first_seconds": ("s", "  the first one in a session"),
    "bench.growth.replaced_mb": ("MB", "a file grows by each bake of 60 s that is replaced"),
    "bench.growth.kept_mb": ("MB", "  that is kept"),
    "bench.growth.fresh_mb": ("MB", "  by the last one"),
    "bench.growth.keys": ("", "  keys of the last one"),
    "bench.growth.keys_kept": ("", "  keys of one that is kept"),
    "bench.growth.keep_seconds": ("s", "  processor time of keeping one"),
}
"""Name of each figure: its unit and what it is."""

NO_BLAS = """\
Official Blender builds may have a NumPy without BLAS. To measure that case, build such a NumPy in a virtual
environment of its own, install this package there, and run the same command (keys and bakes are left out). For the
rows of the manifold tools/bench_no_blas.py does so by itself, and prints them side by side.
  pip install --no-binary numpy numpy==1.26.4 -Csetup-args=-Dblas=none -Csetup-args=-Dlapack=none
  pip install --editable .
"""

OLDEST = "Prescott"
OLD_KERNELS = f"""
NumPy's OpenBLAS does not know this processor and takes the kernels of the oldest ({OLDEST}): products take two to four
times as long. OPENBLAS_CORETYPE=Haswell (AVX2) or SkylakeX (AVX-512) in the environment tells it better.\
"""


def add_parser(subparsers: Subparsers) -> None:
    """Add `bench` and its arguments."""
    parser = subparsers.add_parser(
        "bench",
        help="measure the speed of the parts and of a whole bake",
        epilog=NO_BLAS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--weights", type=Path, metavar="FILE", default=weights_folder() / "pfnn.safetensors",
                        help="the network to measure (default: the one that is shipped)")  # fmt: skip
    parser.add_argument("--growth", action="store_true", help="measure only how a .blend file grows with bakes")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print. Raises UserError when the weights or the destination are at fault."""
    out: Path | None = arguments.json
    if out is not None:
        if not out.parent.is_dir():
            raise UserError(f"{out.parent}: there is no such folder to write into.")
        check_writable(out)
    if arguments.growth:
        reason = why_not_in_blender()
        if reason is not None:
            raise UserError(f"The growth of files is measured in Blender: {reason}.")
        _tell(measure_in_blender("growth"), out)
        return 0
    PFNN.load(arguments.weights)
    figures = measure_apart(arguments.weights)
    lacking = bench_manifold.missing(weights_folder())
    if not lacking:
        figures |= {f"bench.manifold.{name}": s for name, s in bench_manifold.measure_apart(weights_folder()).items()}
    figures |= bench_geometry.measure_apart()
    figures |= bench_rig.measure_apart(arguments.weights)
    if (weights_folder() / NSM_FILE).exists():
        figures |= bench_nsm.measure_apart(weights_folder() / NSM_FILE)
    reason = why_not_in_blender()
    if reason is None:
        in_blender = measure_in_blender("speed")
        figures["meta"] |= in_blender.pop("meta")
        figures |= in_blender
    _tell(figures, out)
    if figures["meta"]["blas_kernels"] == OLDEST:
        print(OLD_KERNELS)
    if reason is not None:
        print(f"\nNot measured: keys and bakes in Blender, as {reason}.")
    if lacking:
        print(f"\nNot measured: the motion manifold, as {weights_folder()} has no {lacking[0]}.")
    return 0


def _tell(figures: dict[str, Any], out: Path | None) -> None:
    """Print the figures, and write them to a file where one is given."""
    print(table(figures))
    if out is not None:
        write_whole(out, json.dumps(figures, indent=1) + "\n")


def why_not_in_blender() -> str | None:
    """What is missing for measuring in Blender, or None."""
    if importlib.util.find_spec("bpy") is None:
        return "bpy is not installed (pip install 'nsm-blender[bpy]')"
    if not (_TOOLS / "bench_blender.py").is_file():
        return "this is not a clone of the repository, which holds the extension's sources"
    return None


def measure_in_blender(what: str) -> dict[str, Any]:
    """Build the extension, install it in a private profile of a child process, and measure it there: its "speed", or
    the "growth" of files."""
    with tempfile.TemporaryDirectory(prefix="nsm-bench-") as folder:
        result = Path(folder) / "result.json"
        _call("package.py", "--out", folder)
        (extension,) = Path(folder).glob("*.zip")
        _call("bench_blender.py", str(extension), str(result), what)
        figures: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return figures


def table(figures: dict[str, Any]) -> str:
    """The figures for people: what, how much, and how many times the limit of the machine."""
    lines = [f"{'':50} {'':>12} {'':7} times the limit"]
    for name, (unit, meaning) in MEANINGS.items():
        if name in figures:
            ratio = figures.get(f"{name}.ratio_to_limit")
            lines.append(
                f"{meaning:50} {_number(figures[name]):>12} {unit:7} {'' if ratio is None else f'{ratio:.2f}'}"
            )
    lines += ["", *(f"{name}: {_number(value)}" for name, value in figures["meta"].items())]
    return "\n".join(line.rstrip() for line in lines)


def _number(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _call(tool: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, str(_TOOLS / tool), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{tool} failed:\n{done.stdout}{done.stderr}")
