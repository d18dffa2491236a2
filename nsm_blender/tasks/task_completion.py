# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done with a thing, by the NSM: when it is done is told from the labels that the network predicts, from what
is in the hands, and from stillness."""

from __future__ import annotations

import numpy as np

from ..cleanup.seating import HIP_JOINTS, Seating, sitting_place
from ..models.nsm import ACTIONS, CONTACTS, FPS
from ..motion.rotations import Array
from ..planning.scene_planner import is_pushed
from ..rollout.goal_input import Reach
from ..rollout.held_objects import TOUCHES, Hands, between_palms, grasp_of
from ..rollout.nsm import SceneCharacter

STILL = 0.12
"""m/s of the root below which one stands still,"""
SETTLED = 0.4
"""for so many seconds;"""
ROCKS = 0.05
"""metres within which the root of one who sits stays meanwhile: he may rock there for good, faster than that."""
SEATED_WITHIN = 0.3
"""Metres from the hips to their place on the seat."""
ON_SEAT = 0.06
"""Meters from the hips to their place on the seat within which the body sits, whatever the hips' contact label: beside
other things the network is less sure of it."""
LIFTING = 0.8
"""Seconds after the grasp at which a box is picked up, after letting go at which it is put down."""
OPEN = 0.6
"""Share of its angle by which a door is open enough to let go of and to go round, as it swings on,"""
PUSHED = 0.2
"""and by which one goes on who pushes it: it swings on before the body, more than the hand could follow standing."""
WAITS = 1.5
"""Seconds after which one who is opening a door by his label takes the handle with a hand that is near, whatever that
hand's label: left to his labels, one treads there until the shot ends."""
_SIT, _OPENS, _HIPS = ACTIONS.index("sit"), ACTIONS.index("open"), CONTACTS.index("Hips")


class Deed:
    """What the key of a number does with a thing from frame `since` of the rollout on.

    off: by how much the body missed its place on the thing, metres and radians; None until it is there.
    """

    def __init__(self, number: int, action: str, aim: Reach, since: int) -> None:
        self.aim, self.since = aim, since
        self.off: tuple[float, float] | None = None
        self._number, self._still, self._opening = number, since, since
        self._sat = np.full(2, np.inf)
        self._is_done = {
            "sit": self._sits,
            "pick_up": self._picked_up,
            "put_down": self._put_down,
            "open": self._opened,
        }[action]

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        """Whether it is done; to be asked once a frame, as hands take and leave things meanwhile."""
        return self._is_done(character, hands)

    def seating(self, frame: int, lean: bool) -> Seating:
        """The time of sitting that begins with it, for a body that sits at a frame. lean: see Seating."""
        return Seating(self._number, self.aim, self.since, frame, lean=lean)

    def _sits(self, character: SceneCharacter, hands: Hands) -> bool:
        hips = sitting_place(character.places[0], character.places[HIP_JOINTS]) - self.aim.place
        away = float(np.linalg.norm(hips))
        sitting = character.action[_SIT] > TOUCHES and (character.contacts[_HIPS] > TOUCHES or away < ON_SEAT)
        moved = np.linalg.norm(character.root[:2] - self._sat) > ROCKS
        if not sitting or moved or away > SEATED_WITHIN:
            self._still, self._sat = character.frame, character.root[:2].copy()
        if character.frame - self._still < SETTLED * FPS:
            return False
        self.off = away, self.aim.facing - float(character.root[3])
        return True

    def _picked_up(self, character: SceneCharacter, hands: Hands) -> bool:
        hold = hands.holding
        if hold is not None:
            return character.frame - hold.taken > LIFTING * FPS
        if character.frame and hands.take(self.aim.thing, character, character.frame, self._number, self.aim.grasp):
            hold = hands.holds[-1]
            self._miss(between_palms(character.places, character.rotations), grasp_of(hold.handles, hold.lying))
        return False

    def _put_down(self, character: SceneCharacter, hands: Hands) -> bool:
        assert self.aim.pose is not None
        hold = hands.holding
        if hold is None:
            left = hands.holds[-1].left
            return left is not None and character.frame - left > LIFTING * FPS
        pose = character.scenery.pose(hold.name, character.frame)
        if hands.leave(self.aim.pose, character.contacts, character.frame, self._number):
            self._miss(grasp_of(hold.handles, pose), grasp_of(hold.handles, self.aim.pose))
        return False

    def _opened(self, character: SceneCharacter, hands: Hands) -> bool:
        frame, name = character.frame, self.aim.thing
        gripping = hands.gripping(name, frame)
        if gripping or character.action[_OPENS] < TOUCHES:
            self._opening = frame
        if frame and not gripping:
            hands.grip(name, character, frame, anyway=frame - self._opening > WAITS * FPS)
        enough = PUSHED if is_pushed(self.aim, character.scenery) else OPEN
        return hands.let_go(name, frame) or hands.opened(name) >= enough

    def _miss(self, was: tuple[Array, Array], wanted: tuple[Array, Array]) -> None:
        """Keep by how much a middle between palms (3,) and its angle are off."""
        self.off = float(np.linalg.norm(was[0] - wanted[0])), float(wanted[1] - was[1])
