# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate nsm`: the tables of Starke et al. 2019, on unseen furniture and in unseen rooms."""

from __future__ import annotations

import argparse
from pathlib import Path

from ... import evaluate
from ...api.evaluation import COMPONENT_CASES
from ...evaluation.nsm import ASKED_FOR, TABLES, picture
from ...evaluation.nsm_ablations import hashes
from ...models.weights import card_path, file_hash
from ...paths import weights_folder
from ...rollout.nsm_network import FILE
from .. import add_workers
from .results import Figures, Keep, Told, add_weights, into_card

SUMMARY = "response, precision, success, foot slide, penetration and ablations of the NSM"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    add_weights(parser, "a file")
    tables = ", ".join((*TABLES, *ASKED_FOR))
    parser.add_argument("--tables", nargs="+", metavar="NAME", help=f"some of {tables}")
    parser.add_argument(
        "--cases",
        nargs=3,
        type=int,
        metavar=("SITS", "CARRIES", "ROOMS"),
        default=COMPONENT_CASES,
        help="numbers of development tasks of the components",
    )
    parser.add_argument(
        "--components",
        nargs="+",
        metavar="NAME",
        help="some of the components, by default all of the rollout and the clean-up",
    )
    add_workers(parser, "measure")
    parser.add_argument("--ablations", type=Path, nargs="+", metavar="FOLDER", default=[],
                        help="ablations of networks in FOLDER, trained alike: full, no_interaction, no_environment, "
                        "concatenation, and any of mlp, pfnn, mann, lstm, auto_lstm (.safetensors); of several, each "
                        "trained with another seed, means and standard errors over trainings")  # fmt: skip
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="also draw the gates over the phase")


def measure(args: argparse.Namespace, keep: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on. Each table's are kept once it is done: all of them take some
    minutes, those of other networks for the ablations some more. Raises UserError."""
    weights: Path = args.weights or weights_folder() / FILE
    if args.picture is not None:
        picture(weights, args.picture)
        print(f"wrote {args.picture}")
    told: Told = {"weights": file_hash(weights)}
    if args.ablations:
        told["ablations"] = [hashes(folder) for folder in args.ablations]

    def kept(figures: Figures) -> None:
        if args.card:
            into_card(card_path(weights), figures, replace=False)
        keep(figures, told)

    figures = evaluate(
        "nsm",
        args.tables,
        weights=weights,
        processes=args.processes,
        cluster=args.cluster,
        ablations=args.ablations,
        cases=tuple(args.cases),
        components=args.components,
        keep=kept,
        log=print,
    )
    if args.card:
        into_card(card_path(weights), figures, replace=args.tables is None)
    return figures, told
