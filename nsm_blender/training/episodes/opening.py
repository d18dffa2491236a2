# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded doors as templates: the hand on the handle tells how far the leaf is open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...geometry.colliders import Collider, Cuboids
from ...geometry.roles import Door
from ...models.nsm import FPS
from ...motion.clip_file import LibraryEntry, load_library
from ...motion.rotations import Array
from .captures import Capture, load_capture
from .doorways import Doorway, Swing, swung_on, wall_round
from .props import Prop, kinds_beside
from .reach import palm
from .track import Track

_OFF_LEAF = 0.3
"""Largest meters from the palm to the closed leaf when the palm is laid on the handle."""
_MOVING = 0.02
"""Radians above which a leaf counts as open."""
_RESTS = 1.5
"""Radians at which a leaf that was let go comes to rest, if it was not opened farther."""
_POST, _WALL_THICKNESS = 0.06, 0.1
"""Meters of the posts' width and of the wall's thickness, for a door whose frame is not described."""
_WALL_LENGTHS = np.array([1.0, 1.0])
"""Meters of wall to either side of a door whose frame is not described."""
_OTHER = {"Left": "Right", "Right": "Left"}
_FLIP = np.array([-1.0, 1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Opening:
    """A door that was opened. In its frame the closed leaf is in the plane y = 0, the way along -Y. side: of the
    hand that opens it."""

    name: str
    subject: str
    track: Track
    doorway: Doorway
    swing: Swing
    side: str

    def mirrored(self) -> Opening:
        """As seen in a mirror."""
        door = self.doorway
        leaf = Cuboids(door.leaf.cuboids.center * _FLIP, door.leaf.cuboids.half)
        handles = replace(
            door.door,
            hinge=(_FLIP * door.door.hinge).tolist(),
            handle=(_FLIP * door.door.handle).tolist(),
            angle=-door.door.angle,
        )
        doorway = _doorway(leaf, handles, door.pushed)
        return replace(
            self,
            name=self.name + "_mirrored",
            track=self.track.mirrored(),
            doorway=doorway,
            side=_OTHER[self.side],
        )


def shows_opening(entry: LibraryEntry) -> bool:
    """Whether a door is told beside a clip."""
    return "door" in kinds_beside(entry.path)


def recorded_openings(data: Path) -> list[Opening]:
    """All doors told beside the clips of a data folder. Raises FileFormatError when no hand is at one."""
    return [
        opening
        for entry in load_library(data)
        if shows_opening(entry)
        for opening in captured_openings(load_capture(entry))
    ]


def captured_openings(capture: Capture) -> list[Opening]:
    """The doors of one clip."""
    return [_opening(capture, prop) for prop in capture.of_kind("door")]


def _opening(capture: Capture, prop: Prop) -> Opening:
    assert prop.facing is not None and prop.start is not None and prop.stop is not None
    through = prop.facing + np.pi
    track = capture.track.moved(-through, prop.place[:2], -prop.place[:2])
    touch, release = round(prop.start * FPS), round(prop.stop * FPS)
    if not 0 < touch < release < len(track) - 1:
        raise FileFormatError(f"{capture.name}: {prop.name} is opened outside of the clip")
    palms = {side: palm(track, side) for side in _OTHER}
    side = min(palms, key=lambda one: abs(float(palms[one][touch, 1])))
    leaf = prop.solid(through)
    half = float((leaf.center + leaf.half)[:, 0].max())
    at = palms[side][touch]
    if abs(at[1]) > _OFF_LEAF or abs(at[0]) > half + _OFF_LEAF:
        raise FileFormatError(
            f"{capture.name}: no hand is at {prop.name} at {prop.start:.1f} s; check position, seconds, axes and unit"
        )
    left = prop.hinge == "left"
    turn = np.pi / 2 * (1 if left == (prop.opens == "push") else -1)
    hinge = half if left else -half
    height = float((leaf.center + leaf.half)[:, 2].max())
    door = Door([hinge, 0.0, 0.0], [0.0, 0.0, 1.0], [float(at[0]), 0.0, float(at[2])], 2 * half, height, turn)
    doorway = _doorway(leaf, door, prop.opens == "push")
    return Opening(capture.name, capture.subject, track, doorway, _swing(doorway, palms[side], touch, release), side)


def _doorway(leaf: Cuboids, door: Door, pushed: bool) -> Doorway:
    """The leaf in a frame and a wall, which are not told."""
    half, high = door.width / 2, door.height
    boxes = np.array(
        [
            [[-half - _POST, -_POST, 0.0], [-half, _POST, high]],
            [[half, -_POST, 0.0], [half + _POST, _POST, high]],
            [[-half - _POST, -_POST, high], [half + _POST, _POST, high + _POST]],
        ]
    )
    frame = Cuboids(boxes.mean(1), (boxes[:, 1] - boxes[:, 0]) / 2)
    wall = wall_round(frame, _WALL_THICKNESS, _WALL_LENGTHS)
    return Doorway(
        Collider("door", leaf, role="door", handles=door),
        Collider("door frame", frame),
        Collider("door wall", wall),
        door,
        0.0,
        pushed,
    )


def _swing(doorway: Doorway, hand: Array, touch: int, release: int) -> Swing:
    """How the leaf went with the hand (T, 3) that was on it, and on by itself when it was let go."""
    shut = doorway.grip(np.zeros(1))[0, :2] - doorway.hinge
    arm = hand[:, :2] - doorway.hinge
    turned = np.arctan2(shut[0] * arm[:, 1] - shut[1] * arm[:, 0], arm @ shut) * doorway.swing
    angle = np.zeros(len(hand))
    during = slice(touch, release + 1)
    angle[during] = np.maximum(turned[during] - turned[touch], 0.0)
    # Where it came to rest is not recorded; it was out of the way that led through.
    angle = swung_on(angle, release, _RESTS)
    moving = np.flatnonzero(angle > _MOVING)
    return Swing(angle, touch, int(moving[0]) if len(moving) else release, release)
