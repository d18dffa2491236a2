# SPDX-License-Identifier: GPL-3.0-or-later
"""From what the NSM predicted to a body with rigid bones (4), in passes, each of which can be left out.

The passes plant feet, bring hips to their seats, solve for the whole body among the things around it, put
palms on what they hold and turn the face to it. How far hips, palms and boxes were off their places before and after it
is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..geometry.colliders import Collider
from ..geometry.ground import Ground
from ..models.sway import Sample
from ..motion.rotations import Array, make_continuous
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneRecord
from ..stepwise import Stepwise, finished
from .corrections import Correction
from .passes import NEEDED, PASSES, TARGETS, Draft, tracks
from .seating import Seating
from .whole_body import SOLVER_TERMS

TERMS = (*(name for name in PASSES if name not in NEEDED), *TARGETS, *SOLVER_TERMS)
"""Names of the passes, and of the solver's targets and terms, that `posed` can leave out."""


@dataclass(frozen=True, eq=False)
class Posed:
    """T frames at 60 fps: joint places (T, J, 3), world rotations (T, J, 4), root (T, 4), contacts (T, 4) of
    CONTACT_JOINTS, poses (T, 7) of the things that were moved."""

    places: Array
    rotations: Array
    root: Array
    contacts: Array
    things: dict[str, Array]
    corrections: list[Correction]

    def told(self) -> list[dict[str, Any]]:
        """The corrections as JSON's plain data."""
        return [asdict(one) for one in self.corrections]


def posed(
    record: SceneRecord,
    seatings: Sequence[Seating],
    hands: Hands,
    colliders: Sequence[Collider],
    rate: float = 1.0,
    without: Collection[str] = frozenset(),
    radii: Sequence[float] = (),
) -> Posed:
    """The whole rollout with rigid bones and settled contacts. rate: collider poses per frame of the rollout. without:
    TERMS that are left out. radii: meters of the capsules of another body than the model's. Raises ValueError for a
    name that is not among TERMS."""
    return finished(posing(record, seatings, hands, colliders, rate, without, radii))


def posing(
    record: SceneRecord,
    seatings: Sequence[Seating],
    hands: Hands,
    colliders: Sequence[Collider],
    rate: float = 1.0,
    without: Collection[str] = frozenset(),
    radii: Sequence[float] = (),
    ground: Ground | None = None,
    sway: Sample | None = None,
) -> Stepwise[Posed]:
    """`posed` in pieces. ground: what feet are planted on; without it, a level floor, or climbed things. sway: of as
    many frames as the rollout, for where the character stands."""
    unknown = sorted(set(without) - set(TERMS))
    if unknown:
        raise ValueError(f"The clean-up has no terms {unknown}; it has {list(TERMS)}.")
    things = yield from tracks(hands, colliders, len(record.root), rate)
    draft = Draft(record, seatings, hands, colliders, things, rate, without, radii, ground, sway)
    for name, change in PASSES.items():
        if name not in without:
            yield from change(draft)
            yield
    places, rotations = draft.body
    turned = make_continuous(rotations)
    yield
    return Posed(places, turned, draft.root, draft.contacts, draft.things, draft.corrections())
