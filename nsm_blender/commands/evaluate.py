# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate`: the papers' tables on the shipped weights."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from ..errors import UserError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = subparsers.add_parser("evaluate", help="the papers' tables on the shipped weights")
    parser.add_argument("system", choices=("nsm", "pfnn", "manifold"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="other weights than the shipped ones")
    parser.add_argument("--card", action="store_true", help="write the figures into the model card beside the weights")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the tables; write the figures where asked."""
    if args.system != "pfnn":
        raise UserError(f"This version evaluates pfnn; {args.system} is not part of it yet.")
    from ..evaluation.pfnn import evaluate
    from ..models.weights import file_hash
    from ..paths import weights_folder

    weights = args.weights or weights_folder() / "pfnn.safetensors"
    started = time.perf_counter()
    figures: dict[str, object] = dict(evaluate(weights))
    seconds = time.perf_counter() - started
    if args.card:
        _into_card(weights.with_suffix(".json"), figures)
    figures["meta"] = {"system": "pfnn", "weights": file_hash(weights), "seconds": round(seconds, 1)}
    print(f"{len(figures) - 1} figures in {seconds:.0f} s")
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _into_card(path: Path, figures: dict[str, object]) -> None:
    """Replace the results of a model card. Raises UserError when there is none."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: there is no model card to write the results into ({error}).") from error
    card["results"] = {name: round(value, 4) for name, value in figures.items() if isinstance(value, float)}
    path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
