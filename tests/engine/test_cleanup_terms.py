# SPDX-License-Identifier: GPL-3.0-or-later
"""Each pass and term of the clean-up can be left out by its name, and does something that is missed then."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import TERMS, Posed, posed, posing
from nsm_blender.cleanup.postural_sway import sway_beside
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Door, Seat
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import from_yaw, multiply
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rollout.goal_spec import Reach
from nsm_blender.rollout.held_objects import Grip
from nsm_blender.stepwise import finished

from .rollouts import COUNT, SAT, at, block, empty_hands, hands_with, holding, record, rising

Scene = Callable[[Collection[str]], Posed]
STEADY = np.tile([0.0, -0.3, 1.1], (COUNT, 1))
"""Where the palms of a character that holds a box are (T, 3)."""


def walks(without: Collection[str]) -> Posed:
    """A character that slides along a post and into a step, its feet turned out."""
    rolled = record()
    ahead = 0.6 * rising(COUNT, 60, 200)
    rolled.places[..., 1] -= ahead[:, None]
    rolled.root[:, 1] -= ahead
    feet = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    rolled.rotations[:, feet] = from_yaw(np.array(0.9))
    step = Collider("step", Cuboids(np.array([[0.0, -1.0, 0.1]]), np.array([[0.5, 0.6, 0.1]])), role="climbable")
    post = block([0.25, -0.3, 1.0], [0.1, 0.05, 0.3])
    return posed(rolled, [], empty_hands(step, post), [step, post], without=without)


def sits(without: Collection[str]) -> Posed:
    """A character that sits and sways 2 cm off its seat, lifts a foot, and lays a hand beside an arm rest."""
    rest = MODEL_SKELETON.rest_positions()
    places = np.tile(rest + np.array([0.0, 0.0, 0.4 + SEAT_BELOW_HIP_JOINTS]) - rest[HIP_JOINTS].mean(0), (COUNT, 1, 1))
    places[SAT + 60 :, MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])] += [0.1, 0.0, 0.1]
    places[..., 0] += 0.01 * np.sin(np.arange(COUNT) / 10)[:, None]
    rolled = record(places, ("LeftFoot", "RightFoot", "LeftHand", "Hips"))
    rolled.contacts[SAT + 60 :, CONTACTS.index("LeftFoot")] = 0
    rolled.actions[:, ACTIONS.index("sit")] = 1
    top = places[0, MODEL_SKELETON.index("LeftHand")] - [0.0, 0.0, 0.08]
    cuboids = Cuboids(np.array([[0.0, 0.0, 0.2], [0.0, 0.32, 0.8]]), np.array([[0.3, 0.25, 0.2], [0.3, 0.05, 0.4]]))
    handles = Seat([0, 0, 0.4], [0, -1, 0], 0.4, 0.4, [top.tolist()])
    chair = Collider("seat", cuboids, role="seat", handles=handles)
    seating = Seating(0, Reach(np.array([0.02, 0.0, 0.4]), 0.0, "sit", "seat"), SAT - 60, SAT, SAT)
    return posed(rolled, [seating], empty_hands(chair), [chair], without=without)


def carries(without: Collection[str]) -> Posed:
    """A character that takes a box that lies lower than its hands, and lowers it into a table."""
    middle = STEADY - 0.05 * rising(COUNT, 150, 200)[:, None] * [0.0, 0.0, 1.0]
    rolled = holding(middle)
    table = block([0.0, -0.6, 0.47], [0.5, 0.3, 0.5], "table")
    box, hands = hands_with(rolled, at(middle[SAT] - [0.0, 0.0, 0.05]), SAT)
    return posed(rolled, [], hands, [box, table], without=without)


def opens(without: Collection[str]) -> Posed:
    """A character with a hand at the handle of a door that turns."""
    first, last = 100, 160
    hinge, handle = np.array([-0.35, -0.55, 0.0]), np.array([0.5, 0.0, 1.1])
    poses = np.concatenate((np.tile(hinge, (COUNT, 1)), from_yaw(0.35 * rising(COUNT, first, last))), axis=1)
    handles = Door([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], handle.tolist(), 0.8, 2.0, 1.5)
    door = Collider(
        "door", Cuboids(np.array([[0.4, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]])), poses[:1], "door", handles
    )
    hands = empty_hands(door)
    hands.grips.append(Grip("door", handles, "Left", handle + np.array([0.0, 0.09, 0.0]), first, last))
    hands.tracks = [{"door": pose} for pose in poses]
    rolled = holding(STEADY, hips=np.full(COUNT, HIPS_HEIGHT - 0.02))
    rolled.actions[:] = 0
    arms = MODEL_SKELETON.indices(["LeftArm", "RightForeArm"])
    tremble = from_yaw(0.05 * np.random.default_rng(1).normal(size=(COUNT, len(arms))))
    rolled.rotations[:, arms] = multiply(tremble, rolled.rotations[:, arms])
    return posed(rolled, [], hands, [door], without=without)


def waits(without: Collection[str]) -> Posed:
    """A character that stands, and sways."""
    rolled = record()
    rolled.actions[:] = np.eye(len(ACTIONS))[ACTIONS.index("idle")]
    sway = sway_beside()
    assert sway is not None
    sample = sway.sample(1, len(rolled.root), FPS)
    return finished(posing(rolled, [], empty_hands(), [], without=without, sway=sample))


@cache
def whole(scene: Scene) -> Posed:
    return scene(())


def changes(scene: Scene, name: str) -> bool:
    """Whether the motion of a scene is another one without a term."""
    full, less = whole(scene), scene({name})
    moved = np.abs(less.places - full.places).max() > 1e-3 or np.abs(less.rotations - full.rotations).max() > 1e-3
    return bool(moved) or any(np.abs(less.things[one] - full.things[one]).max() > 1e-3 for one in full.things)


@pytest.mark.parametrize("name", TERMS)
def test_each_term_that_can_be_left_out_changes_some_motion(name: str) -> None:
    assert any(changes(scene, name) for scene in (walks, sits, carries, opens, waits))


def test_a_name_that_no_term_has_is_refused() -> None:
    with pytest.raises(ValueError, match="lean bakc"):
        posed(record(), [], empty_hands(), [], without={"lean bakc"})
