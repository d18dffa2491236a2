# SPDX-License-Identifier: GPL-3.0-or-later
"""What an evaluation gives: figures by name, and what they were measured on; and the model card that keeps them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ... import UserError
from ...files.reading import read_json
from ...files.writing import write_whole

Figures = dict[str, float]
Told = dict[str, object]
Keep = Callable[[Figures, Told], None]


def add_weights(parser: argparse.ArgumentParser, what: str) -> None:
    """Let other weights be measured than the shipped ones. what: whether they are a file or a folder."""
    parser.add_argument("--weights", type=Path, metavar="PATH", help=f"other weights than the shipped ones, {what}")
    parser.add_argument("--card", action="store_true", help="write the figures into the model card beside the weights")


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Let the number of processes be chosen."""
    parser.add_argument("--processes", type=int, default=2, metavar="N",
                        help="that measure at the same time (default 2)")  # fmt: skip


def into_card(path: Path, figures: Figures, *, replace: bool) -> None:
    """Put figures into the results of a model card, or `replace` them all. Raises UserError when there is none."""
    card = read_json(path, dict, "a model card to write the results into", UserError)
    results = {} if replace else card.get("results", {})
    card["results"] = results | {name: round(value, 4) for name, value in figures.items()}
    write_whole(path, as_json(card))


def as_json(content: Mapping[str, Any]) -> str:
    """JSON text for people and programs."""
    return json.dumps(content, indent=1) + "\n"
