# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate SYSTEM`: the papers' tables on the shipped weights, and this project's own.

Each system has a module here with a `SUMMARY`, `add_arguments(parser)` for its own options, and `measure(args, keep)`,
which returns the figures and what they were measured on; `keep` may be given both as they grow.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ...files.writing import check_writable, make_folder, write_whole
from .results import Figures, Told, as_json

SYSTEMS = ("nsm", "pfnn", "manifold", "errands", "rigs", "proposals", "naturalness", "robustness")
Measure = Callable[[argparse.Namespace, Callable[[Figures, Told], None]], tuple[Figures, Told] | None]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `evaluate` and its systems to the command line."""
    parser = subparsers.add_parser("evaluate", help="the papers' tables on the shipped weights")
    systems = parser.add_subparsers(dest="system", metavar="SYSTEM", required=True)
    for name in SYSTEMS:
        module = import_module(f".{name}", __name__)
        system = systems.add_parser(name, help=module.SUMMARY, description=module.SUMMARY)
        system.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
        module.add_arguments(system)
        system.set_defaults(handler=run, measure=module.measure)


def run(args: argparse.Namespace) -> int:
    """Print the tables; write the figures where asked."""
    measure: Measure = args.measure
    if args.json is not None:
        check_writable(args.json)
    started = time.perf_counter()
    found = measure(args, lambda figures, told: _write(args, figures, told))
    if found is not None:  # a picture or a file was asked for in place of figures
        figures, told = found
        seconds = time.perf_counter() - started
        print(f"{len(figures)} figures in {seconds:.0f} s")
        _write(args, figures, {**told, "seconds": round(seconds, 1)})
    return 0


def _write(args: argparse.Namespace, figures: Figures, told: Told) -> None:
    """The figures and what they were measured on, in the file that was asked for."""
    if args.json is not None:
        make_folder(args.json.parent)
        write_whole(args.json, as_json({**figures, "meta": {"system": args.system, **told}}))
