# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion manifold's times with a NumPy that has no BLAS, as official Blender builds may have, beside one that has.

The first run makes a virtual environment and builds NumPy there from source, without BLAS and LAPACK: that takes some
minutes and a C compiler. Then `nsm_blender.evaluation.bench_manifold` runs with either NumPy in turn, and the least
time of each row counts, as other work on the machine only ever adds. Run it with the Python of `make setup`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from nsm_blender.evaluation.bench_manifold import measure_apart

ROOT = Path(__file__).resolve().parent.parent
NUMPY = "numpy==1.26.4"
WITHOUT_BLAS = ("--no-binary", "numpy", "-Csetup-args=-Dblas=none", "-Csetup-args=-Dlapack=none")
NEEDED = ("array-api-compat==1.16.0",)
"""What the engine needs beside NumPy, as in pyproject.toml."""
LIMIT = 6.0
"""Times longer that a row may take without a BLAS."""
ASKS = """\
import sys
from nsm_blender.evaluation.bench import blas
if blas() != "none":
    sys.exit(f"{sys.executable} has a NumPy with {blas()}; remove its folder and run this again.")
"""


def main() -> int:
    """Print the table; the exit code is 1 when a row takes more than LIMIT times as long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venvs" / "no-blas", help="the environment without BLAS")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    arguments = parser.parse_args()
    other = environment(arguments.venv)
    with_blas: dict[str, float] = {}
    without: dict[str, float] = {}
    for _ in range(max(arguments.rounds, 1)):
        least(with_blas, measure_apart(ROOT / "weights"))
        least(without, measure_apart(ROOT / "weights", other))
    figures = {
        f"bench.no_blas.{name}": (seconds, without[name], without[name] / seconds)
        for name, seconds in with_blas.items()
        if not name.endswith(".ratio_to_limit")
    }
    print(f"{'':40} {'BLAS':>9} {'none':>9}   times")
    for name, (before, after, ratio) in figures.items():
        print(f"{name:40} {before:7.3f} s {after:7.3f} s {ratio:7.2f}")
    worst = max(figures, key=lambda name: figures[name][2])
    print(f"\nworst: {worst}, {figures[worst][2]:.2f} times as long (at most {LIMIT:.0f})")
    if arguments.json is not None:
        parts = ("with_s", "without_s", "ratio")
        flat = {f"{name}.{part}": v for name, row in figures.items() for part, v in zip(parts, row, strict=True)}
        arguments.json.write_text(json.dumps(flat, indent=1) + "\n", encoding="utf-8")
    return int(figures[worst][2] > LIMIT)


def environment(folder: Path) -> Path:
    """The Python of the environment without BLAS, which is made when it is not there."""
    python = folder / "bin" / "python"
    ready = folder / ".installed"
    if not ready.exists():
        print(f"building {NUMPY} without BLAS in {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *WITHOUT_BLAS, NUMPY], check=True)
        subprocess.run([*install, *NEEDED], check=True)
        ready.touch()
    subprocess.run([str(python), "-c", ASKS], cwd=ROOT, check=True)
    return python


def least(so_far: dict[str, float], figures: dict[str, float]) -> None:
    """Take over those figures that are less than before."""
    for name, value in figures.items():
        so_far[name] = min(value, so_far.get(name, value))


if __name__ == "__main__":
    sys.exit(main())
