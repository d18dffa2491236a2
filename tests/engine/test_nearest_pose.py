# SPDX-License-Identifier: GPL-3.0-or-later
"""How near walks' poses are to recorded ones, and paths over rough ground."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.evaluation.nearest_pose import nearest, walking_poses
from nsm_blender.evaluation.pfnn import PATHS, path_shot
from nsm_blender.evaluation.pfnn_ground import ROUGH, rough
from nsm_blender.geometry.ground import Ground
from nsm_blender.motion.clip_file import update_library
from nsm_blender.training.episodes.track import from_clip

from .synthetic import perform


def test_poses_are_compared_wherever_they_walk_and_however_they_look() -> None:
    track = from_clip(perform(1.2, 5.0).clip)
    moved = track.moved(1.1, np.zeros(2), np.array([3.0, -2.0]))
    here, there = (walking_poses(one.positions()) for one in (track, moved))
    assert len(here) > 20 and nearest(there, here).max() < 1e-3
    aside = here + np.array([0.05, 0.0, 0.0])
    assert (nearest(aside, here) <= 0.05 + 1e-6).all() and nearest(aside, here).min() > 0
    assert not len(walking_poses(from_clip(perform(0.0, 3.0).clip).positions()))


def test_walks_are_compared_with_recordings_by_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = [
        replace(perform(speed, 5.0).clip, meta={"name": name, "subject": name, "tags": ["walk"], "licence": "CC0"})
        for name, speed in (("anna", 1.2), ("ben", 1.4))
    ]
    update_library(tmp_path, clips)
    out = tmp_path / "figures.json"
    command = ["evaluate", "pfnn", "--recordings", str(tmp_path), "--json", str(out)]
    assert main(command) == 1
    assert "held-out performers (split.json)" in capsys.readouterr().err
    (tmp_path / "split.json").write_text(json.dumps({"test": ["ben"], "train": ["anna"]}))
    assert main(command) == 0
    found = json.loads(out.read_text())
    assert set(found) == {"pfnn.nearest_pose_cm.walk.median", "pfnn.nearest_pose_cm.recorded.median", "meta"}
    # The two were made by one formula, and the network's walk was not.
    assert 0 < found["pfnn.nearest_pose_cm.recorded.median"] < found["pfnn.nearest_pose_cm.walk.median"]


def test_paths_lie_on_rough_ground() -> None:
    points = np.array(PATHS["circle"][0]())
    field = rough(points, np.random.default_rng(3))
    assert 0.0 <= field.vertices[:, 2].min() < 0.02 and ROUGH - 0.02 < field.vertices[:, 2].max() <= ROUGH
    shot = path_shot("circle", ground=field)
    assert shot.path is not None
    path = np.array(shot.path.points)
    np.testing.assert_allclose(path[:, 2], Ground.of([field]).height(path[:, :2], path[:, 2]), atol=1e-6)
    assert np.ptp(path[:, 2]) > ROUGH / 4
