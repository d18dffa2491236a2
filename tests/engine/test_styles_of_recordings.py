# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled styles: what of a recording shows its style."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.models.manifold import FRAME
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import load_library, update_library
from nsm_blender.motion.skeleton import MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.training.styles import build, recorded

from .manifolds import autoencoder
from .synthetic import perform


def lifted(clip: Clip, height: float) -> Clip:
    """The clip, its hips so much higher."""
    return replace(clip, root=clip.root + np.array([0, 0, height], dtype=clip.root.dtype))


def library(folder: Path, **clips: Clip) -> dict:
    for name, clip in clips.items():
        clip.meta.update({"name": name, "subject": "Anna", "licence": "CC0", "tags": ["walk"]})
        update_library(folder, [clip])
    return {entry.name: entry for entry in load_library(folder)}


def test_feet_that_float_in_a_recording_stand_on_the_floor(tmp_path: Path) -> None:
    entries = library(tmp_path, right=perform(1.2, 5.0).clip, high=lifted(perform(1.2, 5.0).clip, 0.04))
    right, high = recorded(entries["right"]), recorded(entries["high"])
    np.testing.assert_allclose((high[:, FRAME.contact] > 0).mean(0), (right[:, FRAME.contact] > 0).mean(0), atol=0.05)
    on = high[:, FRAME.contact] > 0
    for column, name in ((1, "LeftToe"), (3, "RightToe")):
        height = high[:, FRAME.joint_position].reshape(len(high), -1, 3)[on[:, column], MODEL_SKELETON.index(name), 2]
        np.testing.assert_allclose(height, TOE_HEIGHT, atol=0.005)


def test_a_bend_of_the_way_is_no_part_of_a_style(tmp_path: Path) -> None:
    straight, bent = perform(1.2, 6.0).clip, perform(1.2, 6.0, turn=1.5).clip
    library(tmp_path, straight=straight, bent=bent)
    network = autoencoder()
    alone, both = build(
        tmp_path,
        network,
        {"alone": (("straight", 0, 99),), "both": (("straight", 0, 99), ("bent", 0, 99))},
    )
    np.testing.assert_allclose(both.gram, alone.gram, atol=1e-3 * np.abs(alone.gram).max())
    assert alone.tempo.speed == pytest.approx(1.2, rel=0.05)
    assert both.tempo.speed == pytest.approx(alone.tempo.speed, rel=0.01)
    assert both.tempo.cadence == pytest.approx(alone.tempo.cadence, rel=0.05)
