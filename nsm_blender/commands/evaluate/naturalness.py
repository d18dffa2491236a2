# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate naturalness`: what a viewer sees in bakes, against recorded people."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

Figures = dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this system alone."""
    group = parser.add_argument_group("naturalness")
    group.add_argument("--kinds", nargs="+", metavar="KIND", help="only these kinds of cases")
    group.add_argument("--count", type=int, default=200, metavar="N", help="cases of each kind (default 200)")
    group.add_argument("--unseen", action="store_true", help="cases on which no setting was chosen")
    group.add_argument("--shots", nargs="+", type=Path, default=[], metavar="SHOT.json",
                       help="bake and measure these shots instead")  # fmt: skip
    group.add_argument("--motions", nargs="+", type=Path, default=[], metavar="MOTION.npz",
                       help="measure these motions instead")  # fmt: skip
    group.add_argument("--recordings", type=Path, metavar="DIR",
                       help="compute the recorded percentiles anew from recordings, and do nothing else")  # fmt: skip


def evaluated(
    args: argparse.Namespace, keep: Callable[[Figures, dict[str, object]], None]
) -> tuple[Figures, dict[str, object]]:
    """The figures, and what they were measured on; `keep` is given both as they grow. Raises UserError."""
    from ..evaluation.naturalness import table

    if args.weights is not None or args.card or args.data is not None:
        raise UserError("Naturalness is measured with the shipped weights; leave --weights, --card and --data out.")
    if args.count < 1 or args.processes < 1:
        raise UserError("--count and --processes have to be at least 1.")
    if args.shots or args.motions:
        found = table.of_files(args.shots, args.motions)
    else:
        kinds = chosen(args.kinds)

        def kept(so_far: table.Table) -> None:
            keep(so_far.figures(), _told(so_far, args))

        found = table.tabulated(kinds, args.count, args.unseen, args.processes, print, kept)
    found.told(print)
    return found.figures(), _told(found, args)


def chosen(names: list[str] | None) -> list[str]:
    """The kinds of cases with these names, all without any. Raises UserError."""
    from ..evaluation.naturalness import table

    known = table.kinds_of_cases()
    unknown = sorted({*(names or ())} - {*known})
    if unknown:
        raise UserError(f"There is no kind of case '{unknown[0]}'; choose from {', '.join(known)}.")
    return names or known


def recordings(folder: Path) -> None:
    """Write the recorded percentiles of a data folder. Raises UserError."""
    from ..evaluation.naturalness import recorded
    from ..training.cards import test_subjects

    recorded.save(recorded.compute(folder, test_subjects(folder, None)))
    print(f"wrote {recorded.FILE}")


def _told(found: object, args: argparse.Namespace) -> dict[str, object]:
    """What the figures were measured on, and each case that crashed or was refused wrongly."""
    from ..evaluation.naturalness.table import Table

    assert isinstance(found, Table)
    return {
        "seeds": "unseen" if args.unseen else "development",
        "count": args.count,
        "kinds": found.kinds(),
        "troubles": found.troubles(),
        "worst": {line.name: line.worst for line in found.lines()},
    }
