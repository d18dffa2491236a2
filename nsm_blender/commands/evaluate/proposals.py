# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate proposals`: the handles that are proposed for held-out furniture; no weights take part."""

from __future__ import annotations

import argparse

from ... import evaluate
from ...evaluation.proposals import SETS
from .results import Figures, Keep, Told

SUMMARY = "how often the proposed seats, doors, grasps and edges are right"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """This system has no options of its own."""


def measure(_args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on."""
    figures = evaluate("proposals", log=print)
    for name, value in figures.items():
        print(f"{name} {value:.4g}")
    return figures, {"seeds": list(SETS)}
