# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate robustness`: damaged files, full disks, signals and two writers, and the extension attacked
while it works, in child processes."""

from __future__ import annotations

import argparse
import sys

from ... import UserError
from .. import count, count_or_none
from .results import Figures, Keep, Told, add_processes

SUMMARY = "damaged files, commands that are stopped or cannot write, jobs attacked in Blender; all well or refused"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    parser.add_argument(
        "--cases",
        type=count,
        default=1000,
        metavar="N",
        help="about how many outside Blender; inside, 640 for each 1000 (default 1000)",
    )
    parser.add_argument("--seed", type=count_or_none, default=1, help="another number gives other cases (default 1)")
    parser.add_argument("--kind", default="", metavar="TEXT", help="only kinds with this in their name, such as bvh")
    add_processes(parser)


def measure(args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on. Raises UserError where processes cannot be limited."""
    if sys.platform == "win32":
        raise UserError("Memory and files of a process are limited on Linux and macOS only; run it there.")
    from ...evaluation.robustness import table

    reason = table.why_not_in_blender()
    if reason is not None:
        print(f"Not measured: the extension attacked in Blender, as {reason}.")
    results = table.measure(args.cases, args.seed, args.processes, args.kind)
    print(table.table(results))
    return table.figures(results), {"cases": args.cases, "seed": args.seed}
