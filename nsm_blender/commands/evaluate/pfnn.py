# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate pfnn`: the tables of Holden et al. 2017, ground, and routes over it."""

from __future__ import annotations

import argparse

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
    add_processes(parser, "measure the components")


def measure(args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on. Raises UserError."""
    weights = args.weights or weights_folder() / "pfnn.safetensors"
    figures = evaluate(
        "pfnn", args.tables, weights=weights, components=args.components, processes=args.processes, log=print
    )
    if args.card:
        into_card(card_path(weights), figures, replace=args.tables is None)
    return figures, {"weights": file_hash(weights)}
