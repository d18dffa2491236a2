# SPDX-License-Identifier: GPL-3.0-or-later
"""A character that walks over any ground by the PFNN and uses things by the NSM, with hand-overs between the two."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from ..geometry.ground import Ground
from ..models.nsm import ACTIONS, FUTURE
from ..models.pfnn import FUTURE as WALKED_FUTURE
from ..motion.rotations import Array, wrap_angle
from ..motion.skeleton import HIPS_HEIGHT
from ..planning.speed_profile import Walker
from ..rollout.goal_spec import GoalSpec, Reach, Stay, Steer, looks_along
from ..rollout.handover import Walked, gaits_of, made_by, other_phase, take_over
from ..rollout.nsm import SceneCharacter
from ..rollout.pfnn import Locomotion
from ..shot.goals import ActionKey
from .level_ground import LEVEL
from .nsm_actor import NsmActor
from .pfnn_actor import Walking
from .protocol import Posture

UPRIGHT = 0.9
"""Share of the straight-legged height of the hips above which a body walks and stands, and does not rise or bend."""
_USING = [number for number, name in enumerate(ACTIONS) if name not in ("idle", "walk", "run")]
USES = 0.1
"""Action label above which a body still uses a thing."""
OUT_OF_SEAT = 0.6
"""Meters of way after which a character has left its seat and walks: getting up brings it forward by 0.4 m. Handed over
after 0.3 m, while the trunk still straightened up, 6 of 24 heads jerked more than 1.2 times as much as people's at
most; after 0.6 m none did."""
LOOKS = 0.3
"""Meters ahead on its way to which a character is to look before a thing is asked for."""
AHEAD = 0.1
"""Meters between the points of a way at which it is looked whether it is level."""


class MixedActor(NsmActor):
    """An actor with hands whose character walks by the PFNN while they are empty.

    legs: what is asked of locomotion. The NSM's character keeps every frame, so that hands, the machine and the
    clean-up see one motion. It walks by itself with things in the hands, through doors, and out of its seat.
    """

    def __init__(self, character: SceneCharacter, locomotion: Locomotion, legs: Walking, terrain: Ground) -> None:
        super().__init__(character, float(character.root[2]), legs.limits)
        self.terrain = terrain
        self._locomotion, self._legs = locomotion, legs
        legs.scenery = self.scenery
        self._reference = locomotion.network.rotation_reference
        self._set_mode(True)
        legs.see(locomotion.state)

    def _set_mode(self, walks: bool) -> None:
        """Whether locomotion leads from now on."""
        self._by_legs = walks
        mine = Walking if walks else NsmActor
        self.near_end, self.nearly_there, self.turned = mine.near_end, mine.nearly_there, mine.turned

    def step(self) -> None:
        """One frame of the body and of what is in its hands."""
        if not self._by_legs:
            self.character.step()
            if self._walks_freely():
                self._to_legs()
        else:
            before = self._locomotion.network
            self._locomotion.step(self._legs.wanted())
            if self._locomotion.network is not before:
                self.character.seam()
            self.character.adopt(made_by(self._locomotion, self._reference))
            self._legs.see(self._locomotion.state)
        self.hands.follow(self.character, self.character.frame - 1)

    def fork(self) -> Self:
        """A copy of the actor that goes on from here on its own."""
        out = super().fork()
        out._locomotion, out._legs = self._locomotion.fork(), self._legs.fork()
        out._legs.scenery = out.scenery
        return out

    @property
    def root(self) -> Array:
        """Place x, y, z and facing angle (4,)."""
        return self._legs.root if self._by_legs else self.character.root

    @property
    def is_still(self) -> bool:
        """Whether it stands still."""
        return self._legs.is_still if self._by_legs else super().is_still

    @property
    def is_high(self) -> bool:
        """Whether it is up on something that is no ground."""
        return not self._by_legs and super().is_high

    @property
    def walker(self) -> Walker:
        """The one that leads it now, or led it last."""
        return self._legs.walker if self._by_legs else super().walker

    def begin(self, key: ActionKey) -> None:
        """A key begins."""
        self._legs.begin(key)

    def turn_first(self, walker: Walker) -> bool:
        """Whether it is to turn on the spot before it goes; then it begins to."""
        if not self._by_legs and self._stands_freely():
            self._to_legs()
        return self._by_legs and self._legs.turn_first(walker)

    def has_turned(self) -> bool:
        """Whether it looks along its way as far as it needs to set off."""
        return not self._by_legs or self._legs.has_turned()

    def stand(self, place: Array, facing: float | None) -> None:
        """Stand at a place (2,), turned to an angle or as it is."""
        if self._by_legs:
            self._legs.stand(place, facing)
        else:
            super().stand(place, facing)

    def jump(self, target: Array | None, facing: float | None) -> None:
        """Jump with both feet to a place (3,), or on the spot, and stand there turned to an angle or as it is."""
        if not self._by_legs:
            self._to_legs()
        self._legs.jump(target, facing)

    def face(self, facing: float | None) -> None:
        """Stand where it does, turned to an angle or as it is."""
        if self._by_legs:
            self._legs.face(facing)
        else:
            super().face(facing)

    def rest(self) -> None:
        """Want no more of a thing that was used."""
        if not self._by_legs:
            super().rest()

    def wait(self) -> None:
        """Stand, at the end of the way if the character has come by one."""
        if not self._by_legs:
            super().wait()

    def waits(self) -> bool:
        """Whether it stands before something that moves."""
        return self._by_legs and self._legs.waits()

    def walk(self, walker: Walker, runs: bool, left: Posture | None, door: str) -> None:
        """Follow a walker, with what is in the hands."""
        if self._by_legs:
            self._legs.walk(walker, runs, left, door)
        else:
            super().walk(walker, runs, left, door)

    def use(self, aim: Reach) -> None:
        """Use a thing."""
        if self._by_legs:
            self._to_hands(aim)
        super().use(aim)

    def looks_ahead(self) -> bool:
        """Whether it looks along its way, has no gap before it, and goes over level ground to its end."""
        if not self._by_legs:
            return super().looks_ahead()
        walker, root = self._legs.walker, self._legs.root
        ahead = float(walker.facing(np.array([walker.along + LOOKS]))[0])
        along = looks_along(float(wrap_angle(np.array(ahead - root[3])))) > 0
        return along and not walker.goes_sideways and self._is_level(math.inf)

    def _is_level(self, meters: float) -> bool:
        """Whether the way ahead is as high as the character stands, over so many meters or to its end."""
        walker, z = self.walker, float(self.root[2])
        end = min(walker.path.length, walker.along + meters)
        count = max(math.ceil((end - walker.along) / AHEAD), 1) + 1
        places = walker.places(np.linspace(walker.along, end, count))
        assert self.terrain is not None
        return bool((np.abs(self.terrain.height(places, z) - z) <= LEVEL).all())

    # Hand-overs

    def _to_hands(self, aim: Reach) -> None:
        """The NSM goes on from where locomotion has brought the character."""
        assert self.terrain is not None
        root, legs = self._legs.root, self._legs
        floor = float(self.terrain.height(root[:2], float(root[2])))
        self._ground = floor
        goal: GoalSpec
        if legs.is_walking:
            self._steer = goal = self._steered(legs.walker, runs=False)
        else:
            goal = Stay(np.append(root[:2], floor), float(root[3]))
        places, facings = self._locomotion.foreseen
        # The NSM foresees a second, whose last sixth locomotion does not.
        places, facings = (
            np.concatenate((part[1:], 2 * part[-1:] - part[-2:-1]))[:FUTURE] for part in (places, facings)
        )
        # In the first frame the NSM still stands where it began.
        if self.character.frame:
            self.character.go_on(floor, goal, places, facings)
        self._set_mode(False)

    def _to_legs(self) -> None:
        """Locomotion goes on from where the NSM has brought the character."""
        character = self.character
        roots, actions = character.past
        places, facings = character.foreseen
        root = roots[-1]
        walked = Walked(
            roots,
            gaits_of(actions),
            character.places,
            character.velocities,
            other_phase(character.phase),
            np.vstack((root[None, :2], places))[:WALKED_FUTURE],
            np.append(root[3], facings)[:WALKED_FUTURE],
        )
        take_over(self._locomotion, walked, character.frame)
        character.seam()
        goal = character.goal
        self._set_mode(True)
        self._legs.see(self._locomotion.state)
        if isinstance(goal, Steer):
            self._legs.walk(goal.walker, goal.action == "run", None, "")
        else:
            self._legs.stand(self.root[:2], float(root[3]))

    def _is_free(self) -> bool:
        """Whether it is upright and does nothing with a thing."""
        character = self.character
        tall = float(character.places[0, 2] - character.root[2]) > UPRIGHT * HIPS_HEIGHT
        return tall and self.hands.holding is None and bool((character.action[_USING] < USES).all())

    def _stands_freely(self) -> bool:
        return self._is_free() and not self.is_high and not isinstance(self.character.goal, Reach)

    def _walks_freely(self) -> bool:
        """Whether it walks on its way, out of its seat and with nothing in its hands."""
        goal = self.character.goal
        if not isinstance(goal, Steer) or goal.door or goal.thing or not self._is_free():
            return False
        return goal.seat is None or goal.walker.along > OUT_OF_SEAT
