# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender data compose`: episodes from recordings, and what the NSM is trained on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from .. import UserError
from ..files.writing import check_folder, write_whole
from ..motion.clip_file import load_library
from ..training.episodes.library import Tally, kinds_shown, used_clips
from ..training.episodes.parts import SHARES, Recipe
from ..training.episodes.parts import compose as compose_parts
from ..training.nsm_data import KINDS
from . import add_workers, count, count_or_none

DATA = "data.json"
"""File of a folder of composed episodes that names the recordings that they are made of."""
ALL = "all"
"""Value of --kind for a balanced set of all kinds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `data compose`."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with index.json and clips/")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write for train nsm")
    parser.add_argument("--kind", choices=(*KINDS, ALL), required=True,
                        help="what the episodes are about; all: a balanced set")  # fmt: skip
    parser.add_argument("--count", type=count, default=200, help="how many episodes (default 200)")
    add_making(parser)
    parser.add_argument("--seed", type=count_or_none, default=1)
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE",
                        help="weights of the NSM for --rollouts (default: those that are shipped)")  # fmt: skip
    parser.add_argument("--test-subjects", type=Path, metavar="FILE.json",
                        help='performers left out; default: "test" of split.json in DIR')  # fmt: skip
    parser.set_defaults(handler=compose)


def add_making(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """How episodes are composed, for `data compose` and `train nsm`."""
    parser.add_argument("--walks", type=count_or_none, default=40,
                        help="walks of the PFNN that approaches are taken from (default 40)")  # fmt: skip
    parser.add_argument("--rollouts", type=count_or_none, default=0,
                        help="ways to things that approaches are taken from, too, as the NSM goes them with the "
                        "weights of --from, so that it learns what is right where it fails (default 0)")  # fmt: skip
    add_workers(parser, "compose")


def compose(args: argparse.Namespace) -> int:
    """Compose episodes from recordings, and write what the network is trained on."""
    check_folder(args.out)
    shares = SHARES if args.kind == ALL else {args.kind: 1.0}
    compose_all(args, args.data, args.out, args.count, args.seed, args.start, shares)
    return 0


def left_out_of(args: argparse.Namespace) -> frozenset[str]:
    """Performers that nothing is trained on."""
    from ..training import cards

    test = cards.test_subjects(args.data, args.test_subjects)
    return frozenset({*test, *cards.unsure_subjects(args.data, args.test_subjects)})


def compose_all(
    args: argparse.Namespace,
    library: Path,
    out: Path,
    count: int,
    seed: int,
    weights: Path | None,
    wanted: Mapping[str, float] = SHARES,
) -> None:
    """Episodes of what the recordings show, of each kind its share. weights: of the NSM whose ways are learned from, if
    any are."""
    left_out = left_out_of(args)
    shown = kinds_shown(library, left_out)
    for kind in (kind for kind in wanted if kind not in shown):
        print(f"no episodes of {kind}: no performer to train on shows that in {library}")
    shares = {kind: share for kind, share in wanted.items() if kind in shown}
    if not shares:
        raise UserError(f"{library}: its performers to train on show no {', '.join(wanted)}.")
    recipe = Recipe(library, count, left_out, walks=args.walks, seed=seed, shares=shares,
                    rollouts=args.rollouts, weights=weights)  # fmt: skip
    tally = compose_parts(recipe, out, args.processes, args.cluster)
    if not tally.episodes:
        raise UserError(f"{out}: no episode came out good enough: {_reasons(tally)}.")
    _tell_sources(library, left_out, out)
    print(f"{out}: {sum(tally.episodes.values())} episodes, minutes by action:")
    for action, minutes in tally.minutes().items():
        print(f"  {action:6} {minutes['recorded']:8.2f} recorded {minutes['composed']:8.2f} composed")


def _reasons(tally: Tally) -> str:
    """Why episodes were rejected, and how often."""
    return ", ".join(f"{reason} ({count})" for reason, count in tally.rejected.most_common()) or "none was asked for"


def _tell_sources(library: Path, left_out: frozenset[str], out: Path) -> None:
    """Write which recordings the episodes in `out` are made of."""
    from ..training import cards

    names = used_clips(library, left_out)
    entries = [entry for entry in load_library(library) if entry.name in names]
    told = cards.data_section(
        entries, ["composed with furniture, doors and boxes made by code"], "performers of the test"
    )
    write_whole(out / DATA, json.dumps(told, indent=1) + "\n")
