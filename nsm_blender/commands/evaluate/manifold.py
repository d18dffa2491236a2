# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate manifold`: the figures of Holden et al. 2016, some of them on held-out recordings."""

from __future__ import annotations

import argparse
from pathlib import Path

from ... import UserError, evaluate
from ...evaluation.bench_manifold import FILES
from ...evaluation.filters import draw, read_filters
from ...models.weights import file_hash
from ...paths import weights_folder
from .results import Figures, Keep, Told, add_weights, into_card

SUMMARY = "reconstruction, editing, styles and times of the motion manifold"
CARDS = {
    "manifold.reconstruction.": ("autoencoder",),
    "manifold.ablation.": ("autoencoder",),
    "manifold.editing.": ("autoencoder",),
    "manifold.pin.": ("autoencoder",),
    "manifold.time_s.": ("autoencoder",),
    "manifold.walk.": ("footsteps", "locomotion"),
    "manifold.hit_error_cm.": ("end_effectors",),
    "manifold.style.": ("styles",),
}
"""The model cards that the figures are written into, by the beginning of the figures' names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    add_weights(parser, "a folder")
    parser.add_argument("--data", type=Path, metavar="DIR", help="recordings, of which those held out are measured")
    parser.add_argument("--test-subjects", type=Path, metavar="FILE.json",
                        help='performers that are held out; default: "test" of split.json in DIR')  # fmt: skip
    parser.add_argument("--compare", type=Path, metavar="FOLDER",
                        help="compare with weights of the same names trained with --no-pooling, "
                        "and do nothing else")  # fmt: skip
    parser.add_argument("--filters", type=Path, metavar="FILE.png",
                        help="draw the autoencoder's filters, and do nothing else")  # fmt: skip


def measure(args: argparse.Namespace, _: Keep) -> tuple[Figures, Told] | None:
    """The figures, and what they were measured on; None when only the filters are drawn. Raises UserError."""
    folder: Path = args.weights or weights_folder()
    if args.filters is not None:
        draw(read_filters(folder / "autoencoder.safetensors"), args.filters)
        print(f"wrote {args.filters}")
        return None
    if args.weights is not None and not folder.is_dir():
        raise UserError(f"{folder}: the manifold's weights are a folder of {len(FILES)} files; give that folder.")
    if args.data is None and (args.test_subjects is not None or args.compare is not None):
        raise UserError("--test-subjects and --compare need the recordings; give --data.")
    subjects = _held_out_subjects(args) if args.data is not None else []
    figures = _compared(args, folder, subjects) if args.compare is not None else _measured(args, folder, subjects)
    if args.card:
        for name in FILES:
            mine = {k: v for k, v in figures.items() if any(k.startswith(p) and name in c for p, c in CARDS.items())}
            into_card(folder / f"{name}.json", mine, replace=False)
    hashes = {p.stem: file_hash(p) for p in sorted(folder.glob("*.safetensors")) if p.stem in FILES}
    return figures, {"weights": hashes, "held_out": subjects}


def _measured(args: argparse.Namespace, folder: Path, subjects: list[str]) -> Figures:
    """All figures of a folder of weights but the comparison's."""
    if args.data is None:
        print("Not measured: reconstruction, walks and hits against recordings, as no --data is given.")
        return evaluate("manifold", weights=folder, log=print)
    from ...training import held_out

    return held_out.evaluate(folder, held_out.HeldOut(args.data, subjects)) | evaluate(
        "manifold", weights=folder, log=print
    )


def _compared(args: argparse.Namespace, folder: Path, subjects: list[str]) -> Figures:
    from ...training.comparison import compare
    from ...training.held_out import HeldOut

    return compare(folder, args.compare, HeldOut(args.data, subjects))


def _held_out_subjects(args: argparse.Namespace) -> list[str]:
    from ...training.cards import test_subjects

    subjects = test_subjects(args.data, args.test_subjects)
    if not subjects:
        raise UserError(
            f'{args.data} names no held-out performers (a split.json with a list "test"); give --test-subjects.'
        )
    return subjects
