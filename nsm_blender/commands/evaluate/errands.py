# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate errands`: random goals in held-out rooms, walked to with the PFNN."""

from __future__ import annotations

import argparse

from ... import evaluate
from ...models.weights import file_hash
from ...paths import weights_folder
from .results import Figures, Keep, Told

SUMMARY = "random goals in random rooms, walked to with the shipped PFNN"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """This system has no options of its own."""


def measure(_args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures, and what they were measured on."""
    return evaluate("errands", log=print), {"weights": file_hash(weights_folder() / "pfnn.safetensors")}
