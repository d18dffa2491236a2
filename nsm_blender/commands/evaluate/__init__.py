# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate`: the papers' tables on the shipped weights, and this project's own."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from ..errors import UserError
from ..models.weights import card_path, file_hash
from ..paths import weights_folder
from . import naturalness

Figures = dict[str, float]

SYSTEMS = ("nsm", "pfnn", "manifold", "errands", "proposals", "rigs", "naturalness")

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
"""In whose model cards the manifold's figures are written, by the beginning of their names."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = subparsers.add_parser("evaluate", help="the papers' tables on the shipped weights")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="PATH",
        help="other weights than the shipped ones: a file of the nsm or the pfnn, a folder of the manifold",
    )
    parser.add_argument("--card", action="store_true", help="write the figures into the model card beside the weights")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="manifold: recordings, of which those held out are measured"
    )
    parser.add_argument(
        "--test-subjects",
        type=Path,
        metavar="FILE.json",
        help='manifold: performers that are held out; default: "test" of split.json in DIR',
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="FOLDER",
        help="manifold: compare with weights of the same names trained with --no-pooling, and do nothing else",
    )
    parser.add_argument(
        "--filters", type=Path, metavar="FILE.png", help="manifold: draw the autoencoder's filters, and do nothing else"
    )
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="rigs: also draw a contact sheet of each bake")
    parser.add_argument(
        "--rig",
        action="append",
        default=[],
        metavar="NAME",
        help="rigs: only those with this in their name; may be repeated",
    )
    parser.add_argument("--tables", nargs="+", metavar="NAME",
                        help="nsm: some of precision, ablations, response, endurance, success")  # fmt: skip
    parser.add_argument("--processes", type=int, default=2, metavar="N",
                        help="nsm, naturalness: that measure at the same time (default 2)")  # fmt: skip
    parser.add_argument("--ablations", type=Path, metavar="FOLDER",
                        help="nsm: ablations of networks in FOLDER, trained alike: full, no_interaction, "
                        "no_environment, concatenation (.safetensors)")  # fmt: skip
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="nsm: also draw the gates over the phase")
    naturalness.add_arguments(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the tables; write the figures where asked."""
    if args.filters is not None:
        return _draw_filters(args)
    if args.recordings is not None:
        return _compute_recorded(args)
    started = time.perf_counter()
    measures = {
        "nsm": _nsm,
        "pfnn": _pfnn,
        "manifold": _manifold,
        "errands": _errands,
        "proposals": _proposals,
        "rigs": _rigs,
        "naturalness": _naturalness,
    }
    measure = measures[args.system]
    figures, weights = measure(args)
    seconds = time.perf_counter() - started
    print(f"{len(figures)} figures in {seconds:.0f} s")
    _into_json(args, figures, {**weights, "seconds": round(seconds, 1)})
    return 0


def _pfnn(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """The figures, and what they were measured on."""
    from ..evaluation.pfnn import evaluate

    if args.data is not None or args.test_subjects is not None or args.compare is not None:
        raise UserError("The PFNN is evaluated without recordings; leave --data, --test-subjects and --compare out.")
    weights = args.weights or weights_folder() / "pfnn.safetensors"
    figures = evaluate(weights)
    if args.card:
        _into_card(card_path(weights), figures, replace=True)
    return figures, {"weights": file_hash(weights)}


def _nsm(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """The paper's protocols on unseen furniture and rooms. Each table's figures are written once it is done: all of
    them take some minutes, those of other networks for the ablations some more."""
    from . import nsm

    card = card_path(nsm.weights_of(args))

    def keep(figures: Figures, told: dict[str, object]) -> None:
        if args.card:
            _into_card(card, figures, replace=False)
        _into_json(args, figures, told)

    figures, told = nsm.evaluated(args, keep)
    if args.card:
        _into_card(card, figures, replace=args.tables is None)
    return figures, told


def _errands(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """Random goals in held-out rooms, walked to with the shipped weights."""
    from ..evaluation.errands import evaluate

    if args.weights is not None or args.card or args.data is not None:
        raise UserError("Errands are run with the shipped weights; leave --weights, --card and --data out.")
    return evaluate(), {"weights": file_hash(weights_folder() / "pfnn.safetensors")}


def _proposals(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """The handles that are proposed for held-out furniture; no weights take part."""
    from ..evaluation import proposals
    from ..evaluation.real_furniture import judging

    if args.weights is not None or args.card or args.data is not None:
        raise UserError("Handles are proposed without weights; leave --weights, --card and --data out.")
    figures = proposals.evaluate(proposals.SETS) | judging.evaluate()
    for name, value in figures.items():
        print(f"{name} {value:.4g}")
    return figures, {"seeds": list(proposals.SETS)}


def _rigs(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """The installed extension on test rigs of all conventions, with the shipped weights' motions."""
    from . import rigs

    if args.weights is not None or args.card or args.data is not None:
        raise UserError("Rigs are evaluated with the shipped weights; leave --weights, --card and --data out.")
    return rigs.evaluated(args.rig, args.sheets)


def _naturalness(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    """Bakes of many cases against recorded people. What is measured so far is written once a minute."""
    return naturalness.evaluated(args, lambda figures, told: _into_json(args, figures, told))


def _compute_recorded(args: argparse.Namespace) -> int:
    if args.system != "naturalness":
        raise UserError("Only naturalness is measured against recorded percentiles; leave --recordings out.")
    naturalness.recordings(args.recordings)
    return 0


def _manifold(args: argparse.Namespace) -> tuple[Figures, dict[str, object]]:
    from ..evaluation.bench_manifold import FILES

    folder: Path = args.weights or weights_folder()
    if args.weights is not None and not folder.is_dir():
        raise UserError(f"{folder}: the manifold's weights are a folder of {len(FILES)} files; give that folder.")
    if args.data is None and (args.test_subjects is not None or args.compare is not None):
        raise UserError("--test-subjects and --compare need the recordings; give --data.")
    subjects = _held_out_subjects(args) if args.data is not None else []
    figures = _compared(args, folder, subjects) if args.compare is not None else _measured(args, folder, subjects)
    if args.card:
        for name in FILES:
            mine = {k: v for k, v in figures.items() if any(k.startswith(p) and name in c for p, c in CARDS.items())}
            _into_card(folder / f"{name}.json", mine, replace=False)
    hashes = {p.stem: file_hash(p) for p in sorted(folder.glob("*.safetensors")) if p.stem in FILES}
    return figures, {"weights": hashes, "held_out": subjects}


def _measured(args: argparse.Namespace, folder: Path, subjects: list[str]) -> Figures:
    """All figures of a folder of weights but the comparison's."""
    from ..evaluation.manifold import evaluate

    if args.data is None:
        print("Not measured: reconstruction, walks and hits against recordings, as no --data is given.")
        return evaluate(folder)
    from ..training import held_out

    return held_out.evaluate(folder, held_out.HeldOut(args.data, subjects)) | evaluate(folder)


def _compared(args: argparse.Namespace, folder: Path, subjects: list[str]) -> Figures:
    from ..training.comparison import compare
    from ..training.held_out import HeldOut

    return compare(folder, args.compare, HeldOut(args.data, subjects))


def _draw_filters(args: argparse.Namespace) -> int:
    from ..evaluation.filters import draw, read_filters

    if args.system != "manifold":
        raise UserError("Only the manifold has filters that can be drawn; leave --filters out.")
    draw(read_filters((args.weights or weights_folder()) / "autoencoder.safetensors"), args.filters)
    print(f"wrote {args.filters}")
    return 0


def _held_out_subjects(args: argparse.Namespace) -> list[str]:
    from ..training.cards import test_subjects

    subjects = test_subjects(args.data, args.test_subjects)
    if not subjects:
        raise UserError(
            f'{args.data} names no held-out performers (a split.json with a list "test"); give --test-subjects.'
        )
    return subjects


def _into_json(args: argparse.Namespace, figures: Figures, told: dict[str, object]) -> None:
    """The figures and what they were measured on, in the file that was asked for."""
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        _write(args.json, {**figures, "meta": {"system": args.system, **told}})


def _into_card(path: Path, figures: Figures, *, replace: bool) -> None:
    """Put figures into the results of a model card, or `replace` them all. Raises UserError when there is none."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: there is no model card to write the results into ({error}).") from error
    results = {} if replace else card.get("results", {})
    card["results"] = results | {name: round(value, 4) for name, value in figures.items()}
    _write(path, card)


def _write(path: Path, content: dict[str, object]) -> None:
    """A JSON file, as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
