# SPDX-License-Identifier: GPL-3.0-or-later
"""A network made by hand: it goes straight to the goal that it is fed and does there what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nsm_blender.models.nsm import ACTIONS, CONTACTS, FRAME, FUTURE, GOAL, GOAL_ACTIONS, JOINTS, OUTPUT
from nsm_blender.models.nsm_kernels import NSM
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rollout.held_objects import PALM

STANDING = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT])
HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])
LEFT_HAND, RIGHT_HAND = MODEL_SKELETON.indices(["LeftHand", "RightHand"])
ALL = ["idle", "walk", "run", "sit", "open", "pick_up", "put_down"]
CARRIED = np.array([0.0, -0.35, 1.05])
"""Where a box is carried, in the root frame."""
HAND_SPAN = 0.2
"""Meters from the middle to each palm."""


@dataclass
class Manners:
    """How the puppet does it. speed: m/s at most. off: by how much it misses seats and boxes, (3,) meters in the root
    frame. askew: by how much it is turned beside the goal, radians."""

    speed: float = 1.3
    off: tuple[float, float, float] = (0.0, 0.0, 0.0)
    askew: float = 0.0


class Puppet(NSM):
    """Stands in for a trained network."""

    def __init__(self, manners: Manners | None = None, actions: list[str] | None = None) -> None:
        self.manners = manners or Manners()
        self.card: dict[str, Any] = {
            "actions": ALL if actions is None else actions,
            "standing": standing().tolist(),
        }
        self.hash, self.omega = "puppet", np.array([1.0], dtype=np.float32)

    def predict(self, frame: Array, goal: Array, interaction: Array, environment: Array, phase: float) -> Array:
        """The next frame. It holds a box when its goal is to carry and its hands have come to the box."""
        place = goal[GOAL.position].reshape(-1, 3)[-1].astype(float)
        toward = goal[GOAL.direction].reshape(-1, 2)[-1]
        action = GOAL_ACTIONS[int(goal[GOAL.action].reshape(-1, len(GOAL_ACTIONS))[-1].argmax())]
        hands = frame[FRAME.joint_position].reshape(JOINTS, 3)[[LEFT_HAND, RIGHT_HAND]].mean(0)
        holding = np.linalg.norm(hands - CARRIED) < 0.15 or (action == "idle" and interaction.any())
        used = action in ("sit", "carry", "open") or (action == "idle" and bool(interaction.any()))
        ahead = {"sit": 0.0, "carry": 0.45, "idle": 0.45, "open": 0.3}.get(action, 0.0) if used else 0.0
        seen = place[:2] - ahead * toward
        distance = float(np.linalg.norm(seen))
        near = distance < 0.06
        velocity = seen / max(distance, 1e-6) * min(self.manners.speed, 4 * distance)
        facing = toward if distance < 0.6 or (used and distance < 1.0) else seen
        turn = float(np.arctan2(facing[0], -facing[1])) + self.manners.askew * (distance < 0.3)
        joints = STANDING.copy()
        labels, contacts = np.zeros(len(ACTIONS)), np.zeros(len(CONTACTS))
        # It glides: a foot that touched the ground on the way would be held where it is on the mean.
        contacts[:2] = near
        labels[ACTIONS.index("idle" if distance < 0.1 else "walk")] = 1
        if action == "sit" and near:
            labels[:], labels[ACTIONS.index("sit")], contacts[CONTACTS.index("Hips")] = 0, 1, 1
            wanted = place + np.array([0.0, 0.0, SEAT_BELOW_HIP_JOINTS]) + np.array(self.manners.off)
            joints += wanted - [*joints[0, :2], joints[HIP_JOINTS, 2].mean()]
        if used and action in ("carry", "idle", "open"):
            middle = place + np.array(self.manners.off) if near else CARRIED
            if action == "carry" and np.linalg.norm(place[:2]) < 0.1:
                middle = CARRIED
            joints[LEFT_HAND], joints[RIGHT_HAND] = middle, middle
            spread = 0.0 if action == "open" else HAND_SPAN
            joints[LEFT_HAND, 0] += spread - PALM
            joints[RIGHT_HAND, 0] -= spread - PALM
            labels[ACTIONS.index("carry" if action != "open" else "open")] = 1
            contacts[[CONTACTS.index("LeftHand"), CONTACTS.index("RightHand")]] = near or holding
            if action == "idle" and near and np.linalg.norm(hands - place) < 0.04:
                contacts[2:4] = 0
        return self._told(joints, velocity, turn, labels, contacts)

    def _told(self, joints: Array, velocity: Array, turn: float, labels: Array, contacts: Array) -> Array:
        y = np.zeros(OUTPUT.size, dtype=np.float32)
        y[OUTPUT.joint_position] = y[OUTPUT.future_joint_position] = joints.ravel()
        y[OUTPUT.joint_rotation] = axes().ravel()
        y[OUTPUT.trajectory_direction] = np.tile([0.0, -1.0], FUTURE)
        y[OUTPUT.trajectory_action] = np.tile(labels, FUTURE + 1)
        y[OUTPUT.contact] = contacts
        y[OUTPUT.phase_change] = np.pi
        y[OUTPUT.root_velocity] = velocity
        y[OUTPUT.root_turn] = np.clip(4 * turn, -4.0, 4.0)
        return y


def axes() -> Array:
    """Forward and up axes (J, 2, 3) of the rest pose."""
    return np.tile(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), (JOINTS, 1, 1))


def standing() -> Array:
    """The frame input of a character that stands in the rest pose."""
    out = np.zeros(FRAME.size, dtype=np.float32)
    out[FRAME.joint_position] = STANDING.ravel()
    out[FRAME.joint_rotation] = axes().ravel()
    return out
