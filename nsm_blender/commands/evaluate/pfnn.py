# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate pfnn`: the tables of Holden et al. 2017, ground, and routes over it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ... import evaluate
from ...evaluation.pfnn import COMPONENTS, TABLES
from ...models.weights import card_path, file_hash
from ...paths import weights_folder
from .. import add_processes
from .results import Figures, Keep, Told, add_weights, into_card

SUMMARY = "path error, response, foot slide of the PFNN, ground, and routes over it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    add_weights(parser, "a file")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help=f"some of {', '.join((*TABLES, COMPONENTS))}")
    parser.add_argument(
        "--components",
        nargs="+",
        metavar="NAME",
        help="some of the components, by default all",
    )
    parser.add_argument("--recordings", type=Path, metavar="DIR",
                        help="measure how near the poses of walks are to those recorded in a data folder, beside those "
                        "of its held-out performers, and of the tables only those of --tables")  # fmt: skip
    add_processes(parser, "measure the components")


def measure(args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on. Raises UserError."""
    weights = args.weights or weights_folder() / "pfnn.safetensors"
    held_out: list[str] = []
    if args.recordings is not None:
        from ...training.cards import test_subjects

        held_out = test_subjects(args.recordings, None)
    figures = evaluate(
        "pfnn",
        args.tables,
        weights=weights,
        components=args.components,
        processes=args.processes,
        recordings=args.recordings,
        held_out=held_out,
        log=print,
    )
    if args.card:
        into_card(card_path(weights), figures, replace=args.tables is None and args.recordings is None)
    return figures, {"weights": file_hash(weights)}
