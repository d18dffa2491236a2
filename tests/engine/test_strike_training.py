# SPDX-License-Identifier: GPL-3.0-or-later
"""Training of punches and kicks: what it calls a hit is what the extension makes of the same frames."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.manifold.frames import integrate_root, to_frames, to_world_positions
from nsm_blender.models.manifold import FRAME
from nsm_blender.models.synthesis import EFFECTORS, EndEffectors
from nsm_blender.motion.root import root_track, to_local
from nsm_blender.motion.skeleton import MODEL_SKELETON

from .manifolds import autoencoder
from .synthetic import stand

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the train extra is not installed")

HIT, HALF = 120, 4


@pytest.fixture(scope="module")
def frames():
    """Frames (T, d) of a character that stands, and near the hit goes and turns while the left hand rises."""
    positions = stand(4.0).clip.world()[0].astype(float)
    out = to_frames(positions, root_track(positions, 60.0), np.ones((len(positions), 4)))
    near = slice(HIT - 20, HIT + 20)
    out[near, FRAME.root_velocity] = (0.3, -0.8)
    out[near, FRAME.root_turn] = 1.5
    hand = FRAME.joint_position.start + 3 * MODEL_SKELETON.index("LeftHand")
    out[near, hand + 2] += 0.3 * np.hanning(40)
    return out


def way_of(frames):
    """Places (2 HALF + 1, 3) of the left hand around the hit, around the root at the first frame."""
    root = integrate_root(frames, (2.0, -1.0, 0.0, 0.7))
    place = to_world_positions(frames, root)[:, MODEL_SKELETON.index("LeftHand")]
    out = np.concatenate((to_local(place[:, :2] - root[0, :2], root[0, 3]), place[:, 2:]), axis=1)
    return out[HIT - HALF : HIT + HALF + 1]


def test_a_hand_on_its_way_has_no_error_and_one_aside_has_its_distance(frames):
    import torch

    from nsm_blender.training.strikes import way_error

    joint = np.array([MODEL_SKELETON.index("LeftHand")])

    def error(way):
        tensor = torch.from_numpy(frames.T[None].astype(np.float32).copy())
        return float(way_error(tensor, np.array([HIT]), joint, torch.from_numpy(way[None].astype(np.float32))))

    assert error(way_of(frames)) == pytest.approx(0, abs=1e-6)
    assert error(way_of(frames) + np.array([0.2, 0.0, 0.0])) == pytest.approx(1, rel=1e-3)


def test_a_few_steps_bring_the_hand_nearer_to_its_targets(tmp_path: Path):
    from nsm_blender.training.strike_data import Fight, Strike
    from nsm_blender.training.strikes import StrikeTraining, Weights
    from nsm_blender.training.synthesis import Settings

    positions = stand(4.0).clip.world()[0].astype(float)
    root = root_track(positions, 60.0)
    contacts = np.ones((len(positions), 4))
    strikes = tuple(Strike(HIT, EFFECTORS.index(name)) for name in ("LeftHand", "LeftToe"))
    found = [Fight("f", positions, root, contacts, (strike,)) for strike in strikes]
    network = autoencoder()
    settings = Settings(steps=6, batch=1, save_every=3)
    training = StrikeTraining(found, network.tensors, settings, tmp_path, Weights(recording=0.0, bones=0.0, floor=0.0))
    learned = training.run(lambda _: None)
    assert training.history[-1]["loss"] < training.history[0]["loss"]
    made = EndEffectors(learned)
    hand = found[0].path(strikes[0])[HIT]
    np.testing.assert_allclose(made.usual_target(EFFECTORS.index("LeftHand")), hand, atol=1e-5)
