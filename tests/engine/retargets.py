# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions to bring onto rigs, and how far rigs show them."""

from dataclasses import replace

import numpy as np

from nsm_blender.evaluation import rig_figures
from nsm_blender.evaluation.rig_figures import LIMBS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.root import root_track
from nsm_blender.motion.rotations import (
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    normalize,
    rotate,
)
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.rigging.mapping import propose
from nsm_blender.rigging.retarget import Retargeter

from .synthetic import perform

INDEX = MODEL_SKELETON.index


def motion_of(clip, contacts):
    positions, rotations = clip.world()
    count = len(positions)
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        positions.astype(np.float32),
        rotations.astype(np.float32),
        root_track(positions, clip.fps).astype(np.float32),
        contacts.astype(np.float32),
        CONTACT_JOINTS,
        np.zeros(count, np.float32),
        np.zeros((count, 0), np.float32),
        (),
        clip.fps,
    )


def performed(*args, **kwargs):
    performance = perform(*args, **kwargs)
    return motion_of(performance.clip, np.repeat(performance.down, 2, axis=1))


def walking():
    """Three seconds on a bend, with the trunk, arms and head turning at random, smoothly."""
    motion = performed(1.0, seconds=3.0, turn=0.3, cycle=1.0, start=(2.0, -1.0, 0.4))
    rng = np.random.default_rng(1)
    local = MODEL_SKELETON.local_rotations(motion.rotations.astype(float))
    t = np.linspace(0, 2 * np.pi, len(motion))
    for joint, name in enumerate(MODEL_SKELETON.names):
        if name in ("Hips",) or "Leg" in name or "Foot" in name or "Toe" in name:
            continue
        axis = normalize(rng.normal(size=3))
        swing = from_axis_angle(np.broadcast_to(axis, (len(t), 3)), 0.35 * np.sin(t + rng.uniform(0, 6)))
        local[:, joint] = multiply(local[:, joint], swing)
    positions, rotations = MODEL_SKELETON.forward(motion.positions[:, 0].astype(float), local)
    return replace(motion, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))


def retargeter(rig):
    return Retargeter(rig.info, propose(rig.info))


def places_of(rig, out):
    """Joint -> places (T, 3) of its bone's head."""
    return {joint: out.places[:, out.bones.index(bone)] for joint, bone in rig.truth.items()}


def joint_places(motion, joint):
    return motion.positions[:, INDEX(joint)].astype(float)


def degrees(a, b):
    """Between directions [..., 3]."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def rotation_degrees(a, b):
    between = multiply(a, conjugate(b))
    return np.degrees(2 * np.arctan2(np.linalg.norm(between[..., 1:], axis=-1), np.abs(between[..., 0])))


def drift(places, contacts, fps):
    """Mean speed over the ground, cm/s, where both frames are in contact."""
    on = (contacts[1:] > 0.5) & (contacts[:-1] > 0.5)
    return 100 * fps * np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1)[on].mean()


def limb_errors(rig, places, motion):
    """Degrees (L, T) between the limbs of a rig, as far as it has them, and the engine's."""
    pairs = [pair for pair in LIMBS if set(pair) <= set(rig.truth)]
    return np.array(
        [
            degrees(places[lower] - places[upper], joint_places(motion, lower) - joint_places(motion, upper))
            for upper, lower in pairs
        ]
    )


def sole_heights(rig, out):
    """Joint -> heights (T, N) of the points of its soles, moved as its bone moves."""
    info, world = rig.info, rig.info.world
    rest = {joint: world[:3, :3] @ info.heads[info.numbers[bone]] + world[:3, 3] for joint, bone in rig.truth.items()}
    heights = {}
    for joint, points in rig_figures.sole_points(rest).items():
        bone = info.bones[info.numbers[rig.truth[joint]]]
        axes = world[:3, :3] @ bone.rest / info.size
        number = out.bones.index(bone.name)
        turn = multiply(out.rotations[:, number], conjugate(from_matrix(axes)))
        away = [rotate(turn, np.broadcast_to(point - rest[joint], (len(turn), 3))) for point in points]
        heights[joint] = np.stack([out.places[:, number, 2] + way[:, 2] for way in away], axis=1)
    return heights


def pivoting(degrees_, seconds):
    """A character that stands on the right foot, the left one raised, and turns on the ball of it by so much."""
    standing = performed(0.0, seconds=seconds + 2.0, stepping=None)
    t = np.arange(len(standing)) / standing.fps
    local = MODEL_SKELETON.local_rotations(standing.rotations.astype(float))
    raised = eased(np.minimum(t - 0.5, t[-1] - 0.5 - t) / 0.3)
    axis = np.broadcast_to(np.array([1.0, 0.0, 0.0]), (len(t), 3))
    for part, angle in (("UpLeg", -0.8), ("Leg", 1.2)):
        bent = from_axis_angle(axis, angle * raised)
        local[:, INDEX("Left" + part)] = multiply(bent, local[:, INDEX("Left" + part)])
    places, turns = MODEL_SKELETON.forward(standing.positions[:, 0].astype(float), local)
    yaw = from_yaw(np.radians(degrees_) * eased((t - 1.0) / seconds))[:, None]
    ball = places[:, [INDEX("RightToe")]]
    contacts = standing.contacts * np.array(["Left" not in joint for joint in CONTACT_JOINTS], np.float32)
    return replace(
        standing,
        positions=(rotate(np.broadcast_to(yaw, turns.shape), places - ball) + ball).astype(np.float32),
        rotations=multiply(np.broadcast_to(yaw, turns.shape), turns).astype(np.float32),
        contacts=contacts,
    )


def eased(t):
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3 - 2 * t)
