# SPDX-License-Identifier: GPL-3.0-or-later
"""Postural sway: learned from people who wait, over planted feet, another for each take, and none in motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.nsm import SceneBake
from nsm_blender.cleanup.pfnn_foot_lock import lock_feet
from nsm_blender.cleanup.postural_sway import RISING, held_by_seat, standing_weight, sway_beside
from nsm_blender.cli import main
from nsm_blender.evaluation.takes import idle_shot
from nsm_blender.models.sway import BANDS, TRUNK, Sway
from nsm_blender.models.weights import read_card
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import update_library
from nsm_blender.motion.filters import gaussian
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.naturalness.recorded import recorded
from nsm_blender.training import cards
from nsm_blender.training.sway import deviations, fit, standing_in

from .synthetic import FPS, perform, ramp, rollout, stand

FEET = MODEL_SKELETON.indices(CONTACT_JOINTS)


def swaying(frequency: float, amplitude: float, seconds: float = 40.0) -> Clip:
    """A clip of standing, facing +X, with hips that go to the left and back."""
    clip = stand(seconds, start=(0.0, 0.0, 0.5 * np.pi)).clip
    moved = clip.root.copy()
    moved[:, 1] += amplitude * np.sin(2 * np.pi * frequency * np.arange(len(moved)) / FPS)
    return replace(clip, root=moved)


def shipped() -> Sway:
    sway = sway_beside()
    assert sway is not None
    return sway


def travel(motion: Motion) -> float:
    """Mean speed of the hips over the ground in cm/s, as in the table of naturalness."""
    hips = gaussian(motion.positions[:, 0].astype(float), 0.1 * motion.fps)
    return 100 * motion.fps * float(np.linalg.norm(np.diff(hips[:, :2], axis=0), axis=1).mean())


def test_what_is_fitted_has_the_size_the_way_and_the_speed_of_what_was_recorded() -> None:
    frequency, amplitude = 0.45, 0.02
    waits = standing_in(swaying(frequency, amplitude))
    tensors, told = fit(waits)
    assert told[TRUNK]["explained"] > 0.99
    sway = Sway(*({g: tensors[f"{g}_{part}"] for g in told} for part in ("components", "deviation")))
    hips = np.concatenate([sway.sample(seed, 6000, 60.0).hips for seed in range(8)])
    assert hips.std(axis=0).argmax() == 0
    assert hips[:, 0].std() == pytest.approx(amplitude / np.sqrt(2), rel=0.15)
    band = int(np.digitize(frequency, BANDS)) - 1
    assert int(sway.deviation[TRUNK][0].argmax()) == band


def test_the_command_writes_weights_and_a_card_without_the_held_out_performers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, subject in (("wait_a", "Anna"), ("wait_b", "Berta")):
        clip = swaying(0.4, 0.02, 10.0)
        clip.meta.update({"name": name, "subject": subject, "licence": "free", "tags": ["idle"]})
        update_library(tmp_path / "data", [clip])
    (tmp_path / "data" / "split.json").write_text('{"test": ["Berta"]}')
    out = tmp_path / "sway.safetensors"
    command = ["train", "sway", "--data", str(tmp_path / "data"), "--out", str(out)]
    assert main(command) == 0
    assert Sway.load(out).sample(1, 60, 60.0).hips.shape == (60, 3)
    assert read_card(out)["data"]["clips"] == ["wait_a"]
    assert main([*command, "--steps", "3"]) == 1
    assert "--steps" in capsys.readouterr().err


def test_looking_round_and_walking_are_no_sway() -> None:
    walk = perform(1.0, 8.0)
    assert not standing_in(walk.clip)
    wait = standing_in(swaying(0.3, 0.01))[0]
    turned = wait.rotations.copy()
    head = MODEL_SKELETON.index("Head")
    angle = np.radians(50) * np.sin(np.arange(len(turned)) / 20)
    turned[:, head] = np.stack((np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)), axis=1)
    assert deviations(replace(wait, rotations=turned), "head") is None
    assert deviations(replace(wait, rotations=turned), TRUNK) is not None


def test_sway_sets_in_and_ends_while_the_character_stands() -> None:
    stands = np.zeros(600, dtype=bool)
    stands[:200], stands[300:500], stands[560:570] = True, True, True
    weight = standing_weight(stands, 60.0)
    assert weight[0] == 1 and weight[100] == 1
    assert not weight[~stands].any() and weight[560:570].max() < 0.1
    assert weight[300] == 0 and weight[400] == 1 and weight[499] == 0
    assert np.abs(np.diff(weight)).max() < 2 / (60 * RISING)


def test_feet_stay_and_walking_is_left_as_it_is() -> None:
    made = rollout(perform(ramp(9, (3, 0), (3.4, 1), (5.6, 1), (6, 0)), 9, stepping=(3, 6.3)))
    sample = shipped().sample(3, len(made.record.root), FPS)
    steady, _, contacts = lock_feet(made.record, made.reference, 0.0)
    places, _, _ = lock_feet(made.record, made.reference, 0.0, sway=sample)
    walks = made.record.gait[:, 0] < 0.5
    moves = np.linalg.norm(places - steady, axis=2)
    assert moves[walks].max() < 0.02
    assert moves[~walks, 0].max() > 0.005
    on = contacts[1:] * contacts[:-1] > 0
    steps = np.linalg.norm(np.diff(places[:, FEET], axis=0), axis=2)
    assert steps[on].max() < np.linalg.norm(np.diff(steady[:, FEET], axis=0), axis=2)[on].max() + 1e-4


def test_in_a_seat_the_pelvis_and_the_arms_stay_and_the_spine_turns_as_one() -> None:
    sample = shipped().sample(3, 600, FPS)
    sits = np.arange(600) >= 300
    held = held_by_seat(sample, sits)
    assert not held.hips[sits].any() and np.array_equal(held.hips[~sits], sample.hips[~sits])
    for group, turns in held.turns.items():
        assert np.array_equal(turns[~sits], sample.turns[group][~sits])
    assert not held.turns["left_arm"][sits].any() and not held.turns["right_arm"][sits].any()
    assert np.array_equal(held.turns["head"], sample.turns["head"])
    pelvis, *spine = np.moveaxis(held.turns[TRUNK][sits], 1, 0)
    assert not pelvis.any()
    for joint in spine:
        assert np.array_equal(joint, sample.turns[TRUNK][sits][:, 0])


@pytest.mark.parametrize("bake", [Bake, SceneBake])
def test_a_character_that_waits_travels_as_much_as_people_and_stays_on_its_feet(bake: type[Bake | SceneBake]) -> None:
    row = recorded()["idle", "hips_travel_cm_per_s"]
    motions = [bake(idle_shot(0, seed)).motion() for seed in range(8)]
    found = [travel(motion) for motion in motions]
    assert np.mean([row.at(25) < value < row.at(75) for value in found]) >= 0.75
    for motion in motions:
        standing = motion.positions[60:, FEET].astype(float)
        assert np.ptp(standing, axis=0).max() < 0.01


def test_takes_of_waiting_differ_and_the_same_seed_is_the_same() -> None:
    one, same, other = (Bake(idle_shot(0, seed)).motion().positions for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert np.linalg.norm(one - other, axis=2).mean() > 0.01


def test_characters_that_wait_side_by_side_do_not_sway_together() -> None:
    shots = [replace(idle_shot(0, 0), name=name) for name in ("Ann", "Bob")]
    one, other = (Bake(shot).motion().positions for shot in shots)
    assert np.linalg.norm(one - other, axis=2).mean() > 0.01


def test_without_sway_the_character_stands_still() -> None:
    share, steady = (travel(Bake(replace(idle_shot(0, 1), sway=share)).motion()) for share in (0.5, 0.0))
    assert steady < 0.5 < share < travel(Bake(idle_shot(0, 1)).motion())


def test_weights_without_sway_beside_them_stand_still(tmp_path: Path) -> None:
    assert sway_beside(tmp_path / "pfnn.safetensors") is None
    sway = shipped()
    tensors: dict[str, Array] = {f"{g}_components": value for g, value in sway.components.items()}
    cards.save_weights(
        tensors | {f"{g}_deviation": v for g, v in sway.deviation.items()}, tmp_path / "sway.safetensors"
    )
    again = sway_beside(tmp_path / "pfnn.safetensors")
    assert again is not None
    np.testing.assert_allclose(again.sample(1, 60, 60.0).hips, sway.sample(1, 60, 60.0).hips, atol=1e-4)
