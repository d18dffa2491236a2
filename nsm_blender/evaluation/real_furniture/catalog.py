# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalog of kinds: a piece for each kind and seed, and the right roles of each kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...geometry.furniture import Piece
from . import carried, chairs, sofas, steps_and_doors, tables
from .model import Model, in_own_frame

_MODELS: dict[str, Callable[[np.random.Generator], Model]] = {
    "dining_chair": chairs.dining_chair,
    "slatted_chair": chairs.slatted_chair,
    "office_chair": chairs.office_chair,
    "classic_armchair": chairs.classic_armchair,
    "bar_stool": chairs.bar_stool,
    "pouffe": chairs.pouffe,
    "sofa": sofas.sofa,
    "corner_sofa": sofas.corner_sofa,
    "bench": sofas.bench,
    "bed": sofas.bed,
    "coffee_table": tables.coffee_table,
    "dining_table": tables.dining_table,
    "side_table": tables.side_table,
    "desk": tables.desk,
    "sideboard": tables.sideboard,
    "shelf": tables.shelf,
    "bookcase": tables.bookcase,
    "kitchen_counter": tables.kitchen_counter,
    "crate": carried.crate,
    "cardboard_box": carried.cardboard_box,
    "basket": carried.basket,
    "suitcase": carried.suitcase,
    "drum": carried.drum,
    "closed_stairs": steps_and_doors.closed_stairs,
    "open_stairs": steps_and_doors.open_stairs,
    "step_stool": steps_and_doors.step_stool,
    "podium": steps_and_doors.podium,
    "door_leaf": steps_and_doors.door_leaf,
    "door_in_frame": steps_and_doors.door_in_frame,
}

KINDS = tuple(_MODELS)
"""All kinds. The order decides what a seed makes: append only."""

SEATS = ("dining_chair", "slatted_chair", "office_chair", "classic_armchair", "bar_stool", "pouffe", "sofa",
         "corner_sofa", "bench", "bed")  # fmt: skip
"""Kinds that are seats."""
SURFACES = ("coffee_table", "dining_table", "side_table", "desk", "sideboard", "shelf", "bookcase",
            "kitchen_counter")  # fmt: skip
"""Kinds on which things are put down."""
LOADS = ("crate", "cardboard_box", "basket", "suitcase", "drum")
"""Kinds that are carried."""

ALSO_RIGHT = {
    "pouffe": ("carryable", "surface"),
    "bar_stool": ("surface",),
    "side_table": ("seat",),
    "coffee_table": ("seat",),
    "step_stool": ("seat",),
    "podium": ("surface",),
    "closed_stairs": ("ground",),
    "open_stairs": ("ground",),
}
"""Roles besides its own that a kind's form alone suggests just as well."""


_TOO_HIGH = (0.70, 0.95)
"""Heights in meters of stages that are climbed on hands and knees, from the lowest to the highest."""


def make(kind: str, seed: int) -> Piece:
    """Make the piece of `kind` (one of KINDS) that belongs to the seed, in a frame such as files have it.

    `parts` are its true loose parts, `boxes` the extension's cuboids at its usual voxel size, `handles` and `also` the
    truth, `fixture` a door's frame. Raises KeyError on another kind.
    """
    rng = np.random.default_rng([KINDS.index(kind), 15, seed])
    return in_own_frame(_MODELS[kind](rng), rng, kind)


def high_stage(seed: int) -> Piece:
    """A podium that is too high for the legs; of no kind of its own, as its form suggests a table just as well."""
    rng = np.random.default_rng([len(KINDS), 15, seed])
    return in_own_frame(steps_and_doors.podium(rng, _TOO_HIGH), rng, "podium")
