# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate naturalness`: what a viewer sees in bakes, against recorded people."""

from __future__ import annotations

import argparse
from pathlib import Path

from ... import UserError
from ...evaluation.naturalness import table
from ...files.writing import make_folder
from ...naturalness import recorded
from .results import Figures, Keep, Told, add_processes

SUMMARY = "what a viewer sees in bakes of many cases, against recorded people"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="only these kinds of cases")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="cases of each kind (default 200)")
    parser.add_argument("--unseen", action="store_true", help="cases on which no setting was chosen")
    parser.add_argument("--shots", nargs="+", type=Path, default=[], metavar="SHOT.json",
                        help="bake and measure these shots instead")  # fmt: skip
    parser.add_argument("--motions", nargs="+", type=Path, default=[], metavar="MOTION.npz",
                        help="measure these motions instead")  # fmt: skip
    parser.add_argument("--plain", action="store_true",
                        help="what the NSM does alone: without root filters, before the clean-up")  # fmt: skip
    parser.add_argument("--sheets", type=Path, metavar="DIR",
                        help="also draw a contact sheet of each, eight moments a second from two sides")  # fmt: skip
    parser.add_argument("--recordings", type=Path, metavar="DIR",
                        help="compute the recorded percentiles anew from recordings, and do nothing else")  # fmt: skip
    add_processes(parser)


def measure(args: argparse.Namespace, keep: Keep) -> tuple[Figures, Told] | None:
    """The figures, and what they were measured on, kept once a minute; None when only the recorded percentiles are
    computed. Raises UserError."""
    if args.recordings is not None:
        _compute_recorded(args.recordings)
        return None
    if args.count < 1 or args.processes < 1:
        raise UserError("--count and --processes have to be at least 1.")
    if args.sheets is not None:
        make_folder(args.sheets)
    if args.shots or args.motions:
        if args.plain:
            raise UserError("--plain is for kinds of cases; leave out --shots and --motions.")
        found = table.of_files(args.shots, args.motions, args.sheets)
    else:
        found = table.tabulated(
            chosen(args.kinds),
            args.count,
            args.unseen,
            args.processes,
            print,
            lambda so_far: keep(so_far.figures(), _told(so_far, args)),
            args.sheets,
            args.plain,
        )
    found.report(print)
    return found.figures(), _told(found, args)


def chosen(names: list[str] | None) -> list[str]:
    """The kinds of cases with these names, all without any. Raises UserError."""
    known = table.kinds_of_cases()
    unknown = sorted({*(names or ())} - {*known})
    if unknown:
        raise UserError(f"There is no kind of case '{unknown[0]}'; choose from {', '.join(known)}.")
    return names or known


def _compute_recorded(folder: Path) -> None:
    """Write the recorded percentiles of a data folder. Raises UserError."""
    from ...training.cards import test_subjects

    recorded.save(recorded.compute(folder, test_subjects(folder, None)))
    print(f"wrote {recorded.FILE}")


def _told(found: table.Table, args: argparse.Namespace) -> Told:
    """What the figures were measured on, and each case that crashed or was refused wrongly."""
    return {
        "plain": args.plain,
        "seeds": "unseen" if args.unseen else "development",
        "count": args.count,
        "kinds": found.kinds(),
        "troubles": found.troubles(),
        "worst": {line.name: line.worst for line in found.lines()},
    }
