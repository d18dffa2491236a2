# SPDX-License-Identifier: GPL-3.0-or-later
"""A small stand-in for the trained manifold, and motions to edit on it."""

from __future__ import annotations

from functools import cache

import numpy as np

from nsm_blender.manifold.constraints import Base
from nsm_blender.manifold.frames import to_frames
from nsm_blender.models.manifold import FRAME, UNITS, WIDTH, Autoencoder
from nsm_blender.motion.labels import label
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import make_continuous
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON

from .synthetic import perform


@cache
def autoencoder() -> Autoencoder:
    """Each unit is one feature of a frame, above or below its mean, smoothed: it reproduces smooth motions."""
    frames = walk_base(240).frames
    scale = np.ones(FRAME.size, dtype=np.float32)
    for name, size in (("joint_position", 0.1), ("root_velocity", 0.3), ("root_turn", 0.3), ("contact", 1.0)):
        scale[getattr(FRAME, name)] = size
    window = np.exp(-0.5 * ((np.arange(WIDTH) - WIDTH // 2) / 1.5) ** 2)
    # Unpooling gives half a unit's value to each of its two frames.
    window *= np.sqrt(2) / window.sum()
    w = np.zeros((UNITS, FRAME.size, WIDTH))
    for feature in range(FRAME.size):
        w[2 * feature, feature], w[2 * feature + 1, feature] = window, -window
    return Autoencoder(
        {
            "w": w.astype(np.float32),
            "b": np.zeros(UNITS, dtype=np.float32),
            "mean": frames.mean(0).astype(np.float32),
            "scale": scale,
        },
        hash="smoothing",
    )


def walk(frames: int, fps: float = 60.0, speed: float = 1.2) -> Motion:
    """A straight walk of so many frames at 60 fps, resampled to `fps`."""
    clip = perform(speed, frames / 60).clip
    positions, rotations = clip.world()
    labels = label(clip)
    motion = Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=positions.astype(np.float32),
        rotations=make_continuous(rotations).astype(np.float32),
        root=labels.root.astype(np.float32),
        contacts=labels.contacts,
        contact_names=CONTACT_JOINTS,
        phase=(labels.phase % (2 * np.pi)).astype(np.float32),
        actions=np.ones((frames, 1), dtype=np.float32),
        action_names=("walk",),
        fps=60.0,
    )
    return motion if fps == 60.0 else motion.resampled(fps)


def walk_base(frames: int) -> Base:
    """The same as frames of the manifold."""
    motion = walk(frames)
    root = motion.root.astype(np.float64)
    return Base(to_frames(motion.positions, root, motion.contacts), tuple(root[0].tolist()), motion.contacts)
