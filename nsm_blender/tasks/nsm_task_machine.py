# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrying out action keys with the NSM: steered along a route until near, then the goal itself, until it is done."""

from __future__ import annotations

import copy
import math
from dataclasses import asdict, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from ..cleanup.seating import Seating
from ..errors import RouteError
from ..geometry.roles import Handles
from ..models.nsm import FPS
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, wrap_angle
from ..planning.approach_poses import is_up
from ..planning.path_planner import Leg
from ..planning.scene_planner import Ways, before_seat, in_sector, is_free, through_door
from ..rollout.goal_input import STANDOFF, Reach, Stay, Steer
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from .interaction_targets import aim_of
from .task_completion import OPEN, SETTLED, STILL, Deed
from .task_machine import UNFINISHED, Outcome

NEAR = 1.8
"""Metres of way left at which the goal itself is asked for: the network was trained on such approaches."""
AT_HAND = 1.2
"""Metres from a goal within which no way to it is looked for."""
AT_END = 0.2
"""Metres of way left at which one comes to a stop."""
NEARLY = 0.28
"""Metres of way left at which one stops, too, who gets no nearer"""
HOVERS = 0.7
"""for so many seconds,"""
NEAR_USE = 0.5
"""or goes on to put down what one carries, to where one is drawn from there."""
TURNED = math.radians(6)
"""How exactly one turns to the facing that is asked for."""
PATIENCE = 4.0
"""Seconds after which a stop is as good as it gets."""
STUCK = 4.0
"""Seconds without getting anywhere after which one is stuck."""
LONGEST = 15.0
"""Seconds after which what is done with a thing has failed."""
GETS_ON = 0.1
"""Metres nearer to the end of the way that count as getting on."""
CAME = 1.2
"""Metres within which one goes straight back to where a way ended, before a thing that was used or was to be."""
SECOND_TRIES = 1
PAUSE = 0.8
"""Seconds that one stands before one tries again."""
GETTING_UP = 1.0
"""Seconds that it takes to get up from a seat before one walks."""
UP = 0.15
"""Metres above the floor from which one first goes down the way that one came."""
AWAY, TOWARDS = math.radians(50), math.radians(25)
"""Who is up there, or carries something, turns on the spot before he goes, if he looks so far away, to so near,"""
BALKING, MOST_TURNS = 1.0, 2
"""and again after standing for so many seconds, so often at most,"""
BEGINNING = 0.3
"""over the first so many metres of it."""
_WITH_THINGS = ("sit", "pick_up", "put_down", "open")


class Stage(Enum):
    """What one is doing about the present key."""

    WAIT = auto()
    TURN = auto()
    GO = auto()
    DO = auto()
    SETTLE = auto()
    HOLD = auto()
    PAUSE = auto()


class SceneErrands:
    """Drives a character through the keys of a shot; `outcomes` tells, key by key, what became of them."""

    def __init__(self, shot: Shot, character: SceneCharacter) -> None:
        self._shot = shot
        self.character = character
        self.hands = Hands(character.scenery)
        self.outcomes = [Outcome(key.action, key.goal) for key in shot.keys]
        self.seatings: list[Seating] = []
        self.number = 0
        self._goals = {goal.name: goal for goal in shot.goals}
        self._stage = Stage.WAIT
        self._since = 0
        self._still = 0
        self._nearest, self._got_on = math.inf, 0
        self._tries = self._turns = 0
        self._ways = Ways(shot)
        self._foot: Array | None = None
        self._came: Array | None = None
        self._leg: Leg | None = None
        self._steer: Steer | None = None
        self._aim: Reach | None = None
        self._deed: Deed | None = None

    def fork(self) -> SceneErrands:
        """Another one that goes on from here on its own."""
        out = copy.copy(self)
        out.character = self.character.fork()
        out.hands = self.hands.fork(out.character.scenery)
        out.outcomes = [replace(outcome) for outcome in self.outcomes]
        out.seatings = list(self.seatings)
        wanted = out.character.wanted
        out._steer = wanted if isinstance(wanted, Steer) else None
        return out

    def resumed(self, shot: Shot) -> SceneErrands:
        """Another one that goes on from here with the keys of a shot that differs only in keys that are not begun."""
        out = self.fork()
        out._shot = shot
        out._goals = {goal.name: goal for goal in shot.goals}
        out._ways = Ways(shot)
        fresh = [Outcome(key.action, key.goal) for key in shot.keys]
        out.outcomes = [*out.outcomes[: self.number], *fresh[self.number :]]
        return out

    def step(self) -> None:
        """One frame: on to the next stage or key when it is time, then the body and what is in its hands.

        A key begins a frame after the one before it was done: there a bake can be taken up again.
        """
        while self.number < len(self.outcomes) and self._advance() and not self.between_keys:
            pass
        if self.number == len(self.outcomes):
            self._rest()
        character = self.character
        character.step()
        self.hands.follow(character, character.frame - 1)

    @property
    def between_keys(self) -> bool:
        """Whether the next key is not begun: from here a bake can be taken up again."""
        return self._stage is Stage.WAIT

    def report(self) -> list[dict[str, Any]]:
        """The outcomes as JSON's plain data, for a shot that ends here."""
        for outcome in self.outcomes[self.number :]:
            outcome.trouble = outcome.trouble or UNFINISHED
        return [asdict(outcome) for outcome in self.outcomes]

    @property
    def _key(self) -> ActionKey:
        return self._shot.keys[self.number]

    @property
    def _outcome(self) -> Outcome:
        return self.outcomes[self.number]

    @property
    def _frame(self) -> int:
        """Of the shot."""
        return math.ceil(self.character.frame / FPS * self._shot.fps - 1e-6)

    @property
    def _seated(self) -> bool:
        return bool(self.seatings) and self.seatings[-1].left is None

    def _seconds(self, since: int) -> float:
        return (self.character.frame - since) / FPS

    def _enter(self, stage: Stage) -> bool:
        frame = self.character.frame
        self._stage, self._since, self._still = stage, frame, frame
        self._nearest, self._got_on = math.inf, frame
        return True

    def _advance(self) -> bool:
        """Whether the present stage ended."""
        if self._stage is Stage.WAIT:
            return self._set_off()
        if self._stage is Stage.TURN:
            return self._turn()
        if self._stage is Stage.GO:
            return self._go()
        if self._stage is Stage.DO:
            return self._do()
        if self._stage is Stage.SETTLE:
            return self._settle()
        if self._stage is Stage.PAUSE:
            return self._seconds(self._since) >= PAUSE and self._start_leg()
        return self._seconds(self._since) >= self._key.hold and self._finish()

    def _finish(self, trouble: str = "") -> bool:
        self._outcome.trouble = trouble
        self._outcome.done = self._frame
        self._came = None if trouble or self._leg is None else self._leg.place
        if trouble and not self._seated:
            self._stand(self.character.root[:2], None)
        self.number += 1
        return self._enter(Stage.WAIT)

    def _set_off(self) -> bool:
        key = self._key
        if key.start is not None and self.character.frame / FPS * self._shot.fps < key.start - 1e-6:
            self._rest()
            return False
        self._outcome.set_off = self._frame
        self._outcome.late = 0 if key.start is None else self._frame - key.start
        self._tries = self._turns = 0
        if key.action == "idle":
            return self._stay()
        return self._start_leg()

    def _stay(self) -> bool:
        """An idle key: stay seated, or stand and turn as asked."""
        if self._seated:
            self._outcome.arrived = self._frame
            return self._enter(Stage.HOLD)
        place = self.character.root[:2].copy()
        self._outcome.facing = self._ways.still.facing(self._key, place, self._frame)
        self._stand(place, self._outcome.facing)
        return self._enter(Stage.SETTLE)

    def _stand(self, place: Array, facing: float | None) -> None:
        """Want to stand at a place (2,), turned to `facing` or as one is now, with what one has in the hands."""
        hold, facing = self.hands.holding, float(self.character.root[3]) if facing is None else facing
        character = self.character
        at = np.append(place, character.scenery.ground(character.frame, place[None], self._ways.still.ground))
        character.wish(Stay(at, facing) if hold is None else Stay(at, facing, "carry", hold.name))

    def _rest(self) -> None:
        """Want no more of a thing that was used; who sits stays seated."""
        if isinstance(self.character.wanted, Reach) and not self._seated:
            self._stand(self.character.root[:2].copy(), None)

    def _start_leg(self) -> bool:
        """Find the way from where one is, and go; a key without a way is done at once, with the reason."""
        key, place = self._key, self.character.root[:2].copy()
        if self._nothing_left(key, place):
            self._outcome.arrived = self._frame
            self._rest()
            return self._enter(Stage.HOLD)
        try:
            self._aim = self._aimed(key, place, self._handles(key))
            if self._aim is not None:
                if key.action == "sit":
                    self._outcome.place, self._outcome.facing = self._aim.place[:2].tolist(), self._aim.facing
                near = np.linalg.norm(self._aim.place[:2] - place) < AT_HAND
                # Who tries again goes to where one stands before the thing first; before a door there may be a corner.
                straight = key.action != "open" and not self._tries and not self._seated
                if near and straight and self._in_sector(self._aim) and self._is_free(self._stand_before(self._aim)):
                    return self._approach()
            hold, character = self.hands.holding, self.character
            held = "" if hold is None else hold.name
            leg = self._ways.leg(key, place, character.frame, character.scenery, held, self._starts(place))
            if self._aim is not None:
                # Who stands beside a closet may be behind the plane of its door; and a box may have to be taken from
                # another side.
                self._aim = self._aimed(key, leg.place, leg.handles, from_stand=True)
                if self._aim is not None and key.action == "sit":
                    self._outcome.facing = self._aim.facing
        except RouteError as error:
            return self._finish(str(error))
        self._leg = leg
        if self._aim is None:
            self._outcome.place, self._outcome.facing = leg.place.tolist(), leg.facing
        if leg.route.length < AT_END:
            return self._arrive() if self._aim is None else self._approach()
        self._get_up()
        if key.action == "climb":
            self._foot = leg.route.points[-3, :2]
        if (self._high or held) and abs(self._away(leg)) > AWAY:
            # Who is up there would walk his bend over the edge; with something in the hands one backs off instead.
            self._stand(place, self.character.root[3] + self._away(leg))
            return self._enter(Stage.TURN)
        self._set_out(leg)
        return self._enter(Stage.GO)

    def _nothing_left(self, key: ActionKey, place: Array) -> bool:
        """Whether what a key asks for is so already: a door is open, or one is up there, at a place (2,)."""
        if key.action == "open":
            return self.hands.opened(self._goals[key.goal].collider) >= OPEN
        if key.action != "climb" or self._tries:
            return False
        name, scenery = self._goals[key.goal].collider, self.character.scenery
        return is_up(place, scenery.collider(name), scenery.pose(name, self.character.frame))

    def _turn(self) -> bool:
        """Turning to the way first."""
        assert self._leg is not None
        if abs(self._away(self._leg)) > TOWARDS and self._seconds(self._since) < PATIENCE:
            return False
        self._set_out(self._leg)
        return self._enter(Stage.GO)

    @property
    def _high(self) -> bool:
        """Whether one is up on something."""
        return float(self.character.root[2]) > self._ways.still.ground + UP

    def _away(self, leg: Leg) -> float:
        """Radians from where one looks to the beginning of a leg."""
        points = leg.route.points[:, :2]
        far = np.linalg.norm(points - points[0], axis=1)
        first = points[int(np.argmax(far > BEGINNING))] - points[0]
        return float(wrap_angle(angle_of(first) - self.character.root[3]))

    def _handles(self, key: ActionKey) -> Handles | None:
        """Those by which the thing of a key is best used from where there is room. Raises RouteError with the reason
        why it cannot be used."""
        if key.action not in _WITH_THINGS:
            return None
        hold = self.hands.holding
        if key.action == "put_down" and hold is None:
            raise RouteError("There is nothing in the hands to put down; add a key that picks something up before.")
        if key.action in ("pick_up", "open") and hold is not None:
            raise RouteError(f"The hands are full with '{hold.name}'; add a key that puts it down before.")
        held = "" if hold is None else hold.name
        return self._ways.handles(key, self.character.frame, self.character.scenery, held)

    def _aimed(self, key: ActionKey, place: Array, handles: Handles | None, from_stand: bool = False) -> Reach | None:
        """What to ask the network for near the goal, of one who comes from a place (2,) and uses a thing by these
        handles; None where one only goes. from_stand: the place is where his way to the thing ends."""
        if key.action not in _WITH_THINGS:
            return None
        frame, scenery, hold = self.character.frame, self.character.scenery, self.hands.holding
        thing = scenery.collider(self._goals[key.goal].collider)
        box = None if hold is None else (hold, scenery.collider(hold.name))
        root = np.array([*place, *self.character.root[2:]])
        aim = aim_of(key.action, thing, scenery.pose(thing.name, frame), handles, root, box, from_stand)
        return aim if key.facing is None or key.action != "sit" else replace(aim, facing=key.facing)

    def _starts(self, place: Array) -> list[Array]:
        """Places (2,) from which the way may lead, best first: where one is, or to which one first goes from a seat,
        down from a height, or back from where there is no room."""
        character = self.character
        ends = (self._came, None if self._leg is None else self._leg.place)
        came = [end for end in ends if end is not None and np.linalg.norm(end - place) < CAME]
        if self._seated:
            return [before_seat(self.seatings[-1].aim, character.scenery), *came]
        if self._high and self._foot is not None:
            return [self._foot]
        return [place, *came]

    def _get_up(self) -> None:
        if self._seated:
            self.seatings[-1] = replace(self.seatings[-1], left=self.character.frame)

    def _go(self) -> bool:
        assert self._steer is not None and self._leg is not None
        left = self._steer.walker.left
        if self._aim is None and left <= AT_END:
            return self._arrive()
        if self._aim is not None:
            # A character that still looks away from the way there would go backwards in a wide bend.
            looks = self._steer.looks_along(self.character.root) > 0
            near = left <= NEAR and looks and not self._steer.walker.squeezes
            from_here = not self._tries and near and self._in_sector(self._aim) and self._straight_on
            if from_here or left <= AT_END:
                return self._approach()
        if left < self._nearest - GETS_ON:
            self._nearest, self._got_on = left, self.character.frame
        if self._seconds(self._got_on) > HOVERS:
            if self._aim is None and left <= NEARLY:
                return self._arrive()
            if self.hands.holding is not None and self._aim is not None and left <= NEAR_USE:
                return self._approach()
        if self._balks and self._turns < MOST_TURNS:
            self._turns += 1
            return self._start_leg()
        if self._seconds(self._got_on) > STUCK:
            return self._again(f"One came to a stop {left:.1f} m before the end of the way; free it or draw another.")
        return False

    @property
    def _balks(self) -> bool:
        """Whether one who carries something came to a stop turned away from his way."""
        assert self._steer is not None
        if self.hands.holding is None or self._seconds(self._got_on) < BALKING:
            return False
        walker = self._steer.walker
        way = float(walker.path.heading(np.array(walker.along)))
        return abs(float(wrap_angle(np.array(way - self.character.root[3])))) > AWAY

    @property
    def _straight_on(self) -> bool:
        """Whether nothing is in the way to where one is to stand before the thing."""
        assert self._leg is not None
        return self._is_free(self._leg.place)

    def _is_free(self, end: Array) -> bool:
        """Whether nothing but the thing that is used is on the straight way to a place (2,)."""
        assert self._aim is not None
        character = self.character
        return is_free(character.root, end, character.scenery, character.frame, self._aim.thing)

    def _stand_before(self, aim: Reach) -> Array:
        """Place (2,) of the root of a body that begins to use the thing of an aim."""
        if aim.action == "sit":
            return before_seat(aim, self.character.scenery)
        out: Array = aim.place[:2] - STANDOFF[aim.action] * direction(np.array(aim.facing))
        return out

    def _in_sector(self, aim: Reach) -> bool:
        return in_sector(aim, self.character.scenery, self.character.root[:2])

    def _arrive(self) -> bool:
        """At the end of a way, where nothing but standing is asked for."""
        assert self._leg is not None
        self._outcome.arrived = self._frame
        if self._key.action == "open" and self._key.hold == 0:
            # Nobody stops behind a door who has more to do.
            return self._finish()
        # After a climb the character stands as it came, if nothing else is asked for.
        faces = self._key.action != "climb" or self._key.facing is not None
        self._stand(self._leg.place, self._leg.facing if faces else None)
        return self._enter(Stage.SETTLE)

    def _approach(self) -> bool:
        assert self._aim is not None
        self._get_up()
        self.character.wish(self._aim)
        self._deed = Deed(self.number, self._key.action, self._aim, self.character.frame)
        return self._enter(Stage.DO)

    def _do(self) -> bool:
        """What is done with the thing; whether it is finished or has failed."""
        deed, character = self._deed, self.character
        assert deed is not None
        done = deed.done(character, self.hands)
        if deed.off is not None:
            self._note(100 * deed.off[0], deed.off[1])
        if not done and self._key.action == "put_down" and self.hands.holding is None:
            self._rest()
        if done:
            if self._key.action == "sit":
                self.seatings.append(deed.seating(character.frame - 1, self._key.lean))
            self._outcome.arrived = self._frame
            if self._key.hold > 0:
                self._rest()
            return self._pass() if self._key.action == "open" else self._enter(Stage.HOLD)
        if character.speed > STILL:
            self._got_on = character.frame
        # With the thing taken or let go of, only the time of lifting is left to wait for.
        if deed.off is None and (self._seconds(self._got_on) > STUCK or self._seconds(self._since) > LONGEST):
            assert self._aim is not None
            away = float(np.linalg.norm(character.root[:2] - self._aim.place[:2]))
            what = "sit down on" if self._key.action == "sit" else self._key.action.replace("_", " ")
            return self._again(f"One could not {what} '{self._goals[self._key.goal].collider}', {away:.1f} m from it.")
        return False

    def _again(self, trouble: str) -> bool:
        """Stuck: look for another way, and give up the next time."""
        self._tries += 1
        if self._tries > SECOND_TRIES:
            return self._finish(trouble)
        self._stand(self.character.root[:2].copy(), None)
        return self._enter(Stage.PAUSE)

    def _pass(self) -> bool:
        """On through the door that was opened."""
        assert self._aim is not None
        self._leg, door = through_door(self._aim, self.character.root, self.character.scenery), self._aim.thing
        self._outcome.place, self._outcome.facing = self._leg.place.tolist(), self._leg.facing
        self._aim = None
        self.hands.release(door)
        self._set_out(self._leg, door)
        return self._enter(Stage.GO)

    def _set_out(self, leg: Leg, door: str = "") -> None:
        """Walk a leg, with what one has in the hands, through the door of that name."""
        key, hold, character = self._key, self.hands.holding, self.character
        held = "" if hold is None else hold.name
        planner = self._ways.planners(key, character.frame, character.scenery, held)[0]
        action = "carry" if held else "run" if key.action == "run" or key.gait == "jog" else "walk"
        floor, scenery, frame = self._ways.still.ground, character.scenery, character.frame
        rising = bool(self.seatings) and self.seatings[-1].left == frame
        self._steer = Steer(
            planner.walker(key, leg.route, float(character.root[3])),
            action,
            held,
            ground=lambda places: scenery.ground(frame, places, floor),
            pace=character.speed,
            rest=GETTING_UP if rising else 0.0,
            door=door,
            # Nobody is kept off what he still stands in.
            seat=self.seatings[-1].aim.thing if rising else "",
            free=self._aim is None and not door,
        )
        character.wish(self._steer)

    def _settle(self) -> bool:
        """Standing still, turned as asked, or out of patience."""
        facing = self._outcome.facing
        turn = 0.0 if facing is None else float(wrap_angle(np.array(facing - self.character.root[3])))
        if self.character.speed > STILL or abs(turn) > TURNED:
            self._still = self.character.frame
        if self._seconds(self._still) < SETTLED and self._seconds(self._since) < PATIENCE:
            return False
        if self._outcome.arrived is None:
            self._outcome.arrived = self._frame
        out, root = self._outcome, self.character.root
        away = None if out.place is None else 100 * math.hypot(*(root[:2] - out.place))
        self._note(away, None if out.facing is None else out.facing - root[3])
        return self._enter(Stage.HOLD)

    def _note(self, error_cm: float | None, turn: float | None) -> None:
        """Keep by how much one is off: centimetres, radians."""
        self._outcome.error_cm = error_cm
        self._outcome.error_deg = None if turn is None else math.degrees(abs(float(wrap_angle(np.array(turn)))))
