# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts and bakes on ground: what weights are told of it, where the root goes, and on what the feet stand.

The networks of the rollouts are written by hand: each says a constant, or repeats one of its inputs.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.errors import ShotError
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.models.layout import Layout
from nsm_blender.models.pfnn import CHARACTER_INPUT, CURRENT, INPUT, JOINTS, OUTPUT, SAMPLES
from nsm_blender.models.pfnn_kernels import PFNN
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.skeleton import MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.paths import weights_folder
from nsm_blender.rollout.pfnn import Locomotion, Performer, Record
from nsm_blender.rollout.pfnn_networks import performer_of
from nsm_blender.shot.shot import PathFollow, Shot

from .test_ground import box, quad
from .test_pfnn_rollout import BACKGROUND, command

SLOPE = 0.2
RAMP = Ground.of([quad((-1, -20, SLOPE * 20), (1, -20, SLOPE * 20), (1, 0, 0), (-1, 0, 0))])
"""Rises toward -y, where a character of facing angle 0 looks."""
SPEED = 1.2
CENTER = np.arange(INPUT.terrain_height.start, INPUT.terrain_height.stop)[1::3]
"""Inputs of the heights under the trajectory."""
MEAN_CHARACTER = np.arange(1.0, 8.0, dtype=np.float32)


def repeating(repeats: Mapping[int, int], layout: Layout = INPUT, card: Mapping[str, object] | None = None) -> PFNN:
    """Goes ahead at SPEED; output i repeats input n: {i: n}."""
    hidden = 8
    w = {
        "w0": np.zeros((4, hidden, layout.size)),
        "w1": np.tile(np.eye(hidden), (4, 1, 1)),
        "w2": np.zeros((4, OUTPUT.size, hidden)),
        "b0": np.full((4, hidden), BACKGROUND),
        "b1": np.zeros((4, hidden)),
        "b2": np.zeros((4, OUTPUT.size)),
    }
    for unit, (output, source) in enumerate(repeats.items()):
        w["w0"][:, unit, source] = 1
        w["w2"][:, output, unit] = 1
        w["b2"][:, output] = -BACKGROUND
    y_mean = np.zeros(OUTPUT.size)
    y_mean[OUTPUT.root_velocity] = 0.0, -SPEED
    x_mean = np.zeros(layout.size)
    if layout is CHARACTER_INPUT:
        x_mean[CHARACTER_INPUT.character] = MEAN_CHARACTER
        w["b0"] += np.einsum("khn,n->kh", w["w0"], x_mean)
    tensors = w | {
        "x_mean": x_mean,
        "x_scale": np.ones(layout.size),
        "y_mean": y_mean,
        "y_scale": np.ones(OUTPUT.size),
        "rotation_reference": np.tile([1.0, 0, 0, 0], (JOINTS, 1)),
    }
    return PFNN({name: value.astype(np.float32) for name, value in tensors.items()}, card=card)


def rolled(network: PFNN, frames: int, ground: Ground | None = RAMP) -> Record:
    walker = Locomotion(network, (0.0, -2.0, 2.0 * SLOPE, 0.0), frames, ground=ground)
    for _ in range(frames):
        walker.step(command((0.0, walker.y)))
    return walker.record()


def test_weights_are_told_the_ground_under_their_past_above_the_root() -> None:
    """A second ago the character was SPEED meters back, and as much lower as the ramp says."""
    output = OUTPUT.joint_position.start
    record = rolled(repeating({output: int(CENTER[0])}), 240)
    here = SLOPE * -record.root[-1, 1]
    expected = here - SLOPE * SPEED - record.root[-1, 2]
    assert record.y[-1, output] == pytest.approx(expected, abs=1e-3)


def test_the_height_of_the_ground_is_told_at_the_right_side_first() -> None:
    across = Ground.of([quad((-5, -9, -2.1), (5, -9, 2.9), (5, 9, 2.9), (-5, 9, -2.1))])
    first = INPUT.terrain_height.start + 3 * CURRENT
    outputs = OUTPUT.joint_position.start + np.arange(3)
    record = rolled(repeating({int(o): first + i for i, o in enumerate(outputs)}), 5, across)
    right, middle, left = record.y[0, outputs]
    # It walks across the slope, of which its left is the higher side, so that the root is level with the ground.
    assert middle == pytest.approx(0.0, abs=1e-4)
    assert left == pytest.approx(0.125, abs=1e-4)
    assert right == pytest.approx(-0.125, abs=1e-4)


def test_the_root_rises_with_the_ground_whatever_the_weights() -> None:
    record = rolled(repeating({}), 120)
    np.testing.assert_allclose(record.root[60:, 2], SLOPE * -record.root[60:, 1], atol=0.05)
    np.testing.assert_allclose(np.diff(record.root[60:, 2]), SLOPE * SPEED / 60, atol=2e-3)


def test_joints_are_told_above_the_present_root() -> None:
    """Where the root has risen since, the same joint lies as much lower in the input."""
    shown, height = OUTPUT.joint_position.start, OUTPUT.joint_position.start + 5
    network = repeating({shown: INPUT.joint_position.start + 5, height: int(CENTER[0])})
    record = rolled(network, 120)
    risen = np.diff(record.root[:, 2].astype(float))
    np.testing.assert_allclose(record.y[61:, shown], record.y[60:-1, height] - risen[60:], atol=1e-4)


def test_weights_of_level_ground_see_none() -> None:
    level = repeating({OUTPUT.joint_position.start: INPUT.joint_position.start + 5})
    assert not level.uses(INPUT.terrain_height)
    on, off = rolled(level, 60), rolled(level, 60, None)
    np.testing.assert_array_equal(on.y, off.y)
    np.testing.assert_array_equal(on.root[:, :2], off.root[:, :2])


def test_a_character_moves_like_a_performer_in_the_gaits_and_at_the_speeds_of_the_recordings() -> None:
    output, other = OUTPUT.joint_position.start, MEAN_CHARACTER + 10
    network = repeating({output: CHARACTER_INPUT.character.start + 2}, CHARACTER_INPUT)

    def told(performer: Performer | None, speed: float) -> float:
        walker = Locomotion(network, (0.0, 0.0, 0.0, 0.0), 300, performer=performer)
        for _ in range(300):
            walker.step(replace(command(), velocity=np.tile([0.0, -speed], (5, 1))))
        return float(walker.record().y[-1, output])

    walks, does_not = (Performer(other, np.full(len(GAITS), knows)) for knows in (1.0, 0.0))
    assert told(None, SPEED) == pytest.approx(MEAN_CHARACTER[2], abs=1e-3)
    assert told(walks, SPEED) == pytest.approx(other[2], abs=1e-3)
    assert told(walks, 0.4) == pytest.approx(MEAN_CHARACTER[2], abs=1e-3)
    assert told(does_not, SPEED) == pytest.approx(MEAN_CHARACTER[2], abs=1e-3)


def test_the_character_crouches_under_a_low_beam_and_rises_behind_it() -> None:
    beam = Ground.of([box((-1.0, -6.2, 1.4), (1.0, -6.0, 1.6))])
    walker = Locomotion(repeating({}), (0.0, -2.0, 0.0, 0.0), 420, ground=beam)
    crouching = []
    for _ in range(420):
        walker.step(command((0.0, walker.y - 1.0)))
        crouching.append(walker.record().gait[-1, GAITS.index("crouch")])
    under = np.flatnonzero(np.abs(walker.record().root[:, 1] + 6.1) < 0.1)
    assert min(np.array(crouching)[under]) > 0.9
    assert crouching[0] < 0.1
    assert crouching[-1] < 0.1


def test_a_performer_is_found_in_the_card() -> None:
    known = {"performers": {"16": [0.8] * 7, "35": [0.9] * 7}, "performer_gaits": {"35": ["stand", "walk"]}}
    several = repeating({}, CHARACTER_INPUT, known)
    assert performer_of(several, "") is None
    found, half = performer_of(several, "35"), performer_of(several, "35", 0.5)
    assert found is not None
    assert half is not None
    np.testing.assert_allclose(found.value, 0.9, rtol=1e-6)
    np.testing.assert_allclose(half.value, 0.5 * (0.9 + MEAN_CHARACTER), rtol=1e-6)
    assert [gait for gait, knows in zip(GAITS, found.knows, strict=True) if knows] == ["stand", "walk"]
    with pytest.raises(ShotError, match=r"no performer '99': choose one of 16, 35\."):
        performer_of(several, "99")


def shot(meshes: list[GroundMesh], **changes: str) -> Shot:
    frames = 420
    follow = PathFollow([[0.0, 0.0, 0.0], [0.0, -7.0, 0.0]], [1.1] * frames, ["walk"] * frames, [0.0] * frames)
    return Shot("Walker", 60.0, frames, path=follow, ground=meshes, **changes)  # type: ignore[arg-type]


def flight() -> list[GroundMesh]:
    out = []
    for i in range(6):
        solid = box((-1.0, -9.0, 0.0), (1.0, -2.0 - 0.3 * i, 0.17 * (i + 1)))
        out.append(GroundMesh(f"Step {i}", solid.vertices.tolist(), solid.triangles.tolist()))
    return out


@pytest.fixture(scope="module")
def climbed() -> Motion:
    return Bake(shot(flight())).motion()


def test_the_balls_of_the_feet_stand_on_the_treads(climbed: Motion) -> None:
    ground = Ground.of([mesh.mesh() for mesh in flight()])
    toes = climbed.positions[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])].astype(float)
    above = toes[..., 2] - TOE_HEIGHT - ground.height(toes[..., :2], climbed.root[:, 2:3])
    standing = climbed.contacts[:, [1, 3]] > 0.5
    assert standing.any(axis=1).mean() > 0.5, "what follows is of the walk, and not of moments"
    assert np.percentile(np.abs(above[standing]), 90) < 0.01
    assert climbed.root[-1, 2] == pytest.approx(6 * 0.17, abs=0.01)


def test_a_bake_on_ground_comes_out_the_same_each_time(climbed: Motion) -> None:
    np.testing.assert_array_equal(Bake(shot(flight())).motion().positions, climbed.positions)


def test_weights_of_one_performer_refuse_the_name_of_another(tmp_path: Path) -> None:
    """Alone in their folder, and without such a performer in the weights beside them."""
    shutil.copy(weights_folder() / "pfnn.safetensors", tmp_path)
    with pytest.raises(ShotError, match="The weights know no performer '35': they know one alone; leave it out"):
        Bake(shot([], performer="35"), tmp_path / "pfnn.safetensors")
    with pytest.raises(ShotError, match="The weights know no performer '35': choose one of"):
        Bake(shot([], performer="35"))


def test_a_character_walks_as_another_performer_does() -> None:
    """By the weights beside those that know a single performer; the steps are longer and slower."""
    steps = [np.diff(Bake(shot([], performer=name)).motion().phase) % (2 * np.pi) for name in ("", "accad_female1")]
    assert np.median(steps[1]) < 0.95 * np.median(steps[0])


def test_the_samples_of_the_future_lie_ahead() -> None:
    """A step that comes nearer is told first by the last sample, and lies ahead of the root."""
    step = Ground.of([box((-1.0, -9.0, 0.0), (1.0, -4.0, 0.2))])
    outputs = OUTPUT.joint_position.start + np.arange(2)
    network = repeating({int(outputs[0]): int(CENTER[0]), int(outputs[1]): int(CENTER[SAMPLES - 1])})
    walker = Locomotion(network, (0.0, -2.0, 0.0, 0.0), 180, ground=step)
    for _ in range(180):
        walker.step(command((0.0, walker.y - 1.0)))
    record = walker.record()
    felt_ahead = int(np.argmax(record.y[:, outputs[1]] > 0.05))
    felt_behind = int(np.argmax(record.y[:, outputs[0]] + record.root[:, 2] > 0.15))
    reached = int(np.argmax(record.root[:, 1] < -4.0))
    assert 0 < felt_ahead < reached < felt_behind
