# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed loop in training: what is predicted is fed back as in a bake, and a state that strayed is led back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nsm_blender.geometry.colliders import Collider, Cuboids  # noqa: E402
from nsm_blender.models.layout import Layout  # noqa: E402
from nsm_blender.models.nsm import CONTACTS, FPS, FRAME, GOAL, OUTPUT  # noqa: E402
from nsm_blender.motion.rotations import Array  # noqa: E402
from nsm_blender.motion.skeleton import MODEL_SKELETON  # noqa: E402
from nsm_blender.training import nsm_sequences  # noqa: E402
from nsm_blender.training.episodes.episode import Episode, Goals  # noqa: E402
from nsm_blender.training.episodes.track import from_clip  # noqa: E402
from nsm_blender.training.nsm_batches import Batches, statistics  # noqa: E402
from nsm_blender.training.nsm_data import Packed, features  # noqa: E402
from nsm_blender.training.nsm_sequences import Sequences  # noqa: E402

from .synthetic import perform  # noqa: E402

FRAMES = 70
"""Frames of the sequences: past samples of the last ones are all rolled out."""
STRAIGHT = nsm_sequences.Astray(share=0.0)


@pytest.fixture(scope="module")
def data() -> Packed:
    """A walk in a bend past a box on the floor that it is told to use, and up a step of 20 cm."""
    track = from_clip(perform(1.0, 6.0, turn=0.4).clip)
    goals = Goals.steered(len(track)).wanting(slice(120, None), np.array([1.5, -4.0, 0.3]), 0.7, "carry", 0)
    box = Collider("box", Cuboids(np.array([[1.5, -4.0, 0.3]]), np.array([[0.2, 0.1, 0.3]])))
    middle = track.hips[200, :2]
    step = Collider("step", Cuboids(np.array([[*middle, 0.1]]), np.array([[0.3, 0.3, 0.1]])), role="climbable")
    episode = Episode("", "carry", (), track, (), goals, np.zeros((len(track), 3)), [box, step])
    return features(episode, np.random.default_rng(0))


@pytest.fixture(scope="module")
def batches(data: Packed) -> Batches:
    return Batches(data, statistics(data, "kronecker"), "kronecker", "cpu")


def begun(
    batches: Batches,
    rows: list[int],
    astray: nsm_sequences.Astray,
    seed: int = 0,
    posed: list[int] | None = None,
    at_things: nsm_sequences.Astray | None = None,
    aside: Sequence[float] = (0.0, 0.0),
) -> Sequences:
    noise = torch.Generator().manual_seed(seed)
    drawn = nsm_sequences.drawn(len(rows), noise)
    posed = torch.tensor(rows if posed is None else posed)
    still, told = torch.zeros(len(rows), FRAME.size), torch.tensor([list(aside)] * len(rows))
    return Sequences(batches, torch.tensor(rows), drawn, still, posed, astray, at_things, told)


def pieces(values: Array, layout: Layout, name: str) -> Array:
    return np.asarray(values)[:, getattr(layout, name)]


def test_predicted_rightly_the_network_is_given_what_was_recorded(data: Packed, batches: Batches) -> None:
    """Up to what the rollout mixes in: half of each pose is the last one, moved by velocities that look ahead."""
    rows = [0, 60, 130]
    sequences = begun(batches, rows, STRAIGHT)
    for step in range(FRAMES):
        raw, phase = sequences.inputs()
        now = torch.tensor(rows) + step
        recorded, _, output = batches.raw(now)
        for name, tolerance in (
            ("joint_position", 0.02),
            ("joint_rotation", 0.01),
            ("joint_velocity", 0.15),
            ("trajectory_position", 0.02),
            ("trajectory_direction", 0.02),
            ("trajectory_action", 0.01),
        ):
            was, given = pieces(recorded["frame"], FRAME, name), pieces(raw["frame"], FRAME, name)
            np.testing.assert_allclose(given, was, atol=tolerance, err_msg=f"{name} at {step}")
        np.testing.assert_allclose(raw["goal"], recorded["goal"], atol=0.02)
        np.testing.assert_allclose(raw["interaction"], recorded["interaction"], atol=0.02)
        np.testing.assert_allclose(np.cos(phase), np.cos(data.phase[now]), atol=0.02)
        target = sequences.advance(output)
        np.testing.assert_allclose(target, output, atol=0.06)


def test_a_sequence_that_begins_astray_is_led_back_to_the_recording(batches: Batches) -> None:
    sequences = begun(batches, [10, 40, 70, 140], replace(STRAIGHT, share=1.0, at_goal=0.2, turn=0.2))

    def off() -> tuple[Array, Array]:
        """Meters and radians from the goal's place in the root's frame to where it was recorded."""
        raw, _ = sequences.inputs()
        recorded = batches.raw(sequences.rows)[0]["goal"]
        difference = [np.asarray(raw["goal"] - recorded)[:, getattr(GOAL, name)] for name in ("position", "direction")]
        return np.abs(difference[0]).max(1), np.abs(difference[1]).max(1)

    begins = off()
    for _ in range(round(2 * FPS)):
        sequences.advance(sequences.right())
    ends = off()
    for first, last in zip(begins, ends, strict=True):
        assert first.min() > 0.02 and (last < 0.25 * first + 0.02).all()


def test_far_astray_is_what_comes_to_a_thing_and_nothing_on_its_way(batches: Batches) -> None:
    """By the places of the goals in the roots' frames: of ways (rows 10 to 50) and of a thing (from 150 on)."""
    rows, near = [*range(10, 50), *range(150, 220)], nsm_sequences.ASTRAY

    def off(sequences: Sequences) -> Array:
        difference = sequences.inputs()[0]["goal"] - batches.raw(sequences.rows)[0]["goal"]
        return np.abs(np.asarray(difference)[:, GOAL.position]).max(1)

    usual, far = (begun(batches, rows, near, at_things=one) for one in (None, nsm_sequences.FAR_ASTRAY))
    begins = off(usual), off(far)
    np.testing.assert_array_equal(begins[0][:40], begins[1][:40])
    assert np.mean(begins[1][40:]) > 1.5 * np.mean(begins[0][40:])
    for _ in range(round(0.5 * FPS)):
        for one in (usual, far):
            one.advance(one.right())
    np.testing.assert_array_equal(off(usual)[:40], off(far)[:40])
    left = [np.mean(off(one)[40:]) / np.mean(first[40:]) for one, first in zip((usual, far), begins, strict=True)]
    assert left[1] < 0.7 * left[0]


def test_a_vague_goal_is_told_aside_and_the_thing_is_used_where_it_is(batches: Batches) -> None:
    """Of ways (rows 10 to 50) the goals are told as they are, of a thing (from 150 on) 0.5 m aside."""
    rows, aside = [*range(10, 50), *range(150, 190)], (0.3, -0.4)
    exact, vague = (begun(batches, rows, STRAIGHT, aside=one) for one in ((0.0, 0.0), aside))
    for _ in range(round(0.3 * FPS)):
        told, off = (
            np.asarray(one.inputs()[0]["goal"])[:, GOAL.position].reshape(len(rows), -1, 3) for one in (exact, vague)
        )
        away = np.linalg.norm(off - told, axis=-1)
        np.testing.assert_allclose(away[:40], 0, atol=1e-5)
        np.testing.assert_allclose(away[40:], 0.5, atol=1e-4)
        for one in (exact, vague):
            one.advance(one.right())
    for name in ("frame", "interaction"):
        now = [np.asarray(one.inputs()[0][name]) for one in (exact, vague)]
        np.testing.assert_allclose(now[0], now[1], atol=1e-4)


def test_a_sequence_that_begins_in_another_pose_comes_to_the_recorded_one_within_a_second(batches: Batches) -> None:
    rows, others = [10, 40, 70], [25, 60, 100]
    sequences = begun(batches, rows, STRAIGHT, posed=others)
    pose = slice(FRAME.joint_position.start, FRAME.joint_rotation.stop)

    def now() -> tuple[Array, Array]:
        return np.asarray(sequences.inputs()[0]["frame"]), np.asarray(batches.raw(sequences.rows)[0]["frame"])

    given, recorded = now()
    begins = np.abs(given - recorded)[:, pose].max(1)
    np.testing.assert_allclose(given[:, pose], batches.raw(torch.tensor(others))[0]["frame"][:, pose], atol=1e-3)
    for _ in range(round(FPS)):
        sequences.advance(sequences.right())
    given, recorded = now()
    assert (np.abs(given - recorded)[:, pose].max(1) < 0.05 * begins + 0.02).all()


def test_poses_to_begin_in_are_of_the_same_phase_and_near(data: Packed) -> None:
    rows = np.repeat(np.arange(len(data)), 4)
    others = nsm_sequences.OtherPoses(data).drawn(rows, torch.Generator().manual_seed(0))
    apart = np.abs(np.angle(np.exp(1j * (data.phase[others] - data.phase[rows]))))
    places = data.frame[:, FRAME.joint_position].astype(float)
    far = np.linalg.norm((places[others] - places[rows]).reshape(len(rows), -1, 3), axis=-1).mean(-1)
    assert 0.1 < (others != rows).mean() < 0.7
    assert apart.max() < 0.3 and far.max() < 0.2


def test_what_is_right_stays_right_when_it_is_fed_back(batches: Batches) -> None:
    astray = replace(STRAIGHT, share=1.0, at_goal=0.2, turn=0.2)
    sequences = begun(batches, [10, 40, 70, 140], astray, posed=[20, 40, 60, 120])
    for _ in range(FRAMES // 2):
        right = sequences.right()
        np.testing.assert_allclose(sequences.advance(right), right, atol=1e-5)


def test_a_thing_keeps_its_place_beside_its_goal_where_a_sequence_begins_astray(batches: Batches) -> None:
    rows = [130, 140, 150, 160]
    recorded = batches.raw(torch.tensor(rows))[0]
    given, _ = begun(batches, rows, nsm_sequences.Astray(share=1.0)).inputs()

    def seen(raw: dict[str, torch.Tensor]) -> Array:
        """Cells from the goal, in its own frame."""
        at = raw["goal"][:, GOAL.position].reshape(len(rows), 13, 3)[:, -1:]
        ahead = raw["goal"][:, GOAL.direction].reshape(len(rows), 13, 2)[:, -1]
        out = -raw["interaction"][:, 512:].reshape(len(rows), 4, 3) - at
        x, y = ahead[:, None, 0], ahead[:, None, 1]
        return np.stack((out[..., 0] * x + out[..., 1] * y, out[..., 1] * x - out[..., 0] * y, out[..., 2]), axis=-1)

    assert not np.allclose(given["goal"], recorded["goal"], atol=0.01)
    np.testing.assert_allclose(seen(given), seen(recorded), atol=2e-3)


def test_where_no_thing_is_used_none_appears(batches: Batches) -> None:
    given, _ = begun(batches, [0, 10], nsm_sequences.Astray(share=1.0)).inputs()
    assert not given["interaction"].any()


def test_gradients_reach_back_over_frames_until_they_are_cut(batches: Batches) -> None:
    for keep in (True, False):
        sequences = begun(batches, [20, 60], STRAIGHT)
        y = batches.raw(torch.tensor([20, 60]))[2].requires_grad_()
        sequences.advance(y, keep)
        sequences.advance(batches.raw(torch.tensor([21, 61]))[2])
        fed = sequences.inputs()[0]["frame"]
        assert fed.requires_grad is keep
        if keep:
            fed[:, FRAME.joint_position].sum().backward()
            assert y.grad is not None and y.grad[:, OUTPUT.joint_velocity].abs().sum() > 0


def test_a_hand_that_touches_a_thing_stays_with_it_where_a_sequence_begins_astray(data: Packed) -> None:
    wrist, elbow, shoulder = MODEL_SKELETON.indices(["LeftHand", "LeftForeArm", "LeftArm"])
    output = data.output.copy()
    output[180:230, OUTPUT.contact.start + CONTACTS.index("LeftHand")] = 1
    held = replace(data, output=output)
    batches = Batches(held, statistics(held, "kronecker"), "kronecker", "cpu")
    rows = [170, 175, 180, 185]
    sequences = begun(batches, rows, replace(STRAIGHT, share=1.0, at_goal=0.03, per_meter=0.0, turn=0.07))

    def seen(frame: Array, joint: int) -> Array:
        """Places (N, 2) of a joint from the goal, in its frame."""
        goal = sequences.inputs()[0]["goal"] if frame is given else batches.raw(sequences.rows)[0]["goal"]
        at = np.asarray(goal)[:, GOAL.position].reshape(len(rows), 13, 3)[:, -1, :2]
        x, y = np.asarray(goal)[:, GOAL.direction].reshape(len(rows), 13, 2)[:, -1].T
        out = frame[:, FRAME.joint_position].reshape(len(rows), -1, 3)[:, joint, :2] - at
        return np.stack((out[:, 0] * x + out[:, 1] * y, out[:, 1] * x - out[:, 0] * y), axis=-1)

    for step in range(40):
        given = np.asarray(sequences.inputs()[0]["frame"])
        recorded = np.asarray(batches.raw(sequences.rows)[0]["frame"])
        off = [np.linalg.norm(seen(given, joint) - seen(recorded, joint), axis=1) for joint in (wrist, shoulder)]
        touches = np.array(rows) + step >= 182
        assert (off[0] < 0.01)[touches].all(), (step, off)
        if step == 0:
            assert off[1].max() > 0.02
        places = given[:, FRAME.joint_position].reshape(len(rows), -1, 3)
        length = np.linalg.norm(places[:, wrist] - places[:, elbow], axis=-1)
        np.testing.assert_allclose(length, np.linalg.norm(MODEL_SKELETON.offsets[wrist]), atol=0.02)
        sequences.advance(sequences.right())
