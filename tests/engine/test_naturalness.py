# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of naturalness give what was put into a motion, and recordings and bakes are cut by the same rules."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.evaluation.naturalness import table
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array, from_axis_angle, from_yaw, rotate
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.naturalness import recorded
from nsm_blender.naturalness.case import Case
from nsm_blender.naturalness.findings import FINDINGS, findings
from nsm_blender.naturalness.measures import excess_turning, measure, measure_track
from nsm_blender.naturalness.segments import Use, segments
from nsm_blender.naturalness.track import (
    FPS,
    Track,
    derivative,
    high_passed,
    resampled,
    sample_times,
    smooth,
    track_of,
    track_of_clip,
    turning_points,
)
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .synthetic import Performance, perform, stand

LEGS = [side + part for side in ("Left", "Right") for part in ("UpLeg", "Leg", "Foot", "Toe")]
FEET = MODEL_SKELETON.indices(["LeftFoot", "LeftToe", "RightFoot", "RightToe"])


def motion_of(performance: Performance) -> Motion:
    positions, rotations = performance.clip.world()
    count = len(positions)
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        positions.astype(np.float32),
        rotations.astype(np.float32),
        performance.root.astype(np.float32),
        np.repeat(performance.down, 2, axis=1).astype(np.float32),
        CONTACT_JOINTS,
        np.zeros(count, np.float32),
        np.zeros((count, len(GAITS)), np.float32),
        GAITS,
        FPS,
    )


def still(seconds: float = 3.0) -> Track:
    """Standing without any movement."""
    positions, _ = stand(seconds).clip.world()
    places = np.repeat(positions[:1].astype(float), len(positions), axis=0)
    return track(places)


def track(places: Array, fps: float = FPS) -> Track:
    count = len(places)
    return Track(
        places, np.tile([0.0, -1.0, 0.0], (count, 1)), fps, np.zeros(count, dtype=bool), np.ones(count, dtype=bool)
    )


def turned(places: Array, angle: Array) -> Array:
    """Places (T, J, 3) turned about the vertical through the hips by an angle (T,)."""
    middle = places[:, :1] * [1, 1, 0]
    spin = np.repeat(from_yaw(angle)[:, None], places.shape[1], axis=1)
    return rotate(spin, places - middle) + middle


@pytest.mark.parametrize(("fps", "within"), [(60.0, 0.02), (30.0, 0.04)])
def test_acceleration_of_a_swaying_body_is_that_of_the_sine_at_any_rate(fps: float, within: float) -> None:
    t = np.arange(round(4 * fps)) / fps
    hz, amplitude = 3.0, 0.05
    places = np.repeat(still().raw[:1], len(t), axis=0)
    places[..., 0] += amplitude * np.sin(2 * np.pi * hz * t)[:, None]
    swaying = track(resampled(places, sample_times(len(t), fps)), fps)
    found = measure_track(swaying, action="idle").values()
    low_passed = np.exp(-0.5 * (2 * np.pi * hz * 0.02) ** 2)
    true = amplitude * (2 * np.pi * hz) ** 2 * low_passed
    for part in ("hips", "hands", "feet", "head"):
        assert max(found["idle", f"{part}_acceleration"]) == pytest.approx(true, rel=within + 0.02)
        assert max(found["idle", f"{part}_jerk"]) == pytest.approx(true * 2 * np.pi * hz, rel=within + 0.05)


def test_tremble_is_what_lies_above_10_hz() -> None:
    t = np.arange(300) / FPS
    walking, trembling = 0.1 * np.sin(2 * np.pi * 2 * t), 0.002 * np.sin(2 * np.pi * 15 * t)
    inner = slice(30, -30)
    assert np.sqrt(np.square(high_passed(walking + trembling)[inner]).mean()) == pytest.approx(
        0.002 / np.sqrt(2), rel=0.1
    )
    assert np.abs(high_passed(walking + 3.0 * t)[inner]).max() < 1e-4


def test_tremble_of_a_slow_source_is_left_out() -> None:
    assert "head_tremble_mm" in measure_track(still()).whole
    assert "head_tremble_mm" not in measure_track(track(still().raw, 30.0)).whole


def test_smoothing_keeps_a_straight_line() -> None:
    line = 2.0 * np.arange(50) / FPS
    assert np.allclose(derivative(smooth(line, 0.2)), 2.0)


def test_planted_feet_are_twisted_by_as_much_as_the_body_turns() -> None:
    standing = still(4.0)
    places = turned(standing.raw, np.radians(60) * np.linspace(0, 1, len(standing)))
    places[:, FEET] = standing.raw[:, FEET]
    out = measure_track(track(places)).whole["planted_twist_deg"]
    assert out == pytest.approx(60, abs=6)
    assert measure_track(track(turned(standing.raw, np.full(len(standing), 1.0)))).whole["planted_twist_deg"] < 10


def test_a_lunge_is_measured_at_its_speed_and_stays_part_of_the_walk() -> None:
    walk = motion_of(perform(1.2))
    extra = np.zeros(len(walk))
    extra[120:150] = 1.8 / FPS
    walk.positions[..., 1] -= np.cumsum(extra)[:, None]
    found = measure(walk).values()
    assert max(found["walk", "root_speed"]) > 2.6
    assert ("jog", "root_speed") not in found
    assert max(measure(motion_of(perform(1.2))).values()["walk", "root_speed"]) == pytest.approx(1.2, abs=0.05)


def test_speed_is_a_run_only_where_a_run_is_labeled() -> None:
    fast = motion_of(perform(3.2, cycle=0.7))
    labeled = replace(fast, actions=np.ones_like(fast.actions))
    assert "jog" not in {s.action for s, _ in measure(fast).parts}
    assert {s.action for s, _ in measure(labeled).parts} == {"jog"}


def test_a_spin_is_more_than_the_way_asks_and_a_corner_is_not() -> None:
    straight, corner, spin = np.zeros(300), np.zeros(300), np.zeros(300)
    corner[120:180] = np.pi / 2
    spin[100:200] = 2 * np.pi / (100 / FPS)
    excess = [
        excess_turning(track_of(motion_of(p)), [(0, 299)])
        for p in (perform(1.2, 5, turn=straight), perform(1.2, 5, turn=corner), perform(0.0, 5, turn=spin))
    ]
    assert excess[0] < 5 and excess[1] < 30
    assert excess[2] == pytest.approx(360, abs=15)


def test_turning_round_before_a_seat_and_going_back_to_it_is_no_excess() -> None:
    speed, turn = np.zeros(300), np.zeros(300)
    turn[:60], turn[120:180] = np.radians(165), -np.radians(165)
    speed[60:120], speed[180:] = 1.2, -0.4
    assert excess_turning(track_of(motion_of(perform(speed, 5, turn=turn))), [(0, 299)]) < 30


def test_commanded_turning_is_no_excess() -> None:
    spin = np.zeros(300)
    spin[100:200] = 2 * np.pi / (100 / FPS)
    assert excess_turning(track_of(motion_of(perform(0.0, 5, turn=spin))), [(0, 299)], required=2 * np.pi) < 10


def test_sway_is_no_turning() -> None:
    sway = np.radians(10) * np.sin(np.arange(600) / 10)
    assert np.abs(np.diff(turning_points(sway, np.radians(25)))).sum() < np.radians(21)
    there_and_back = np.radians(90) * np.sin(np.linspace(0, np.pi, 600)) + sway
    assert np.abs(np.diff(turning_points(there_and_back, np.radians(25)))).sum() == pytest.approx(np.pi, abs=0.7)


def test_a_walk_has_a_start_and_a_stop() -> None:
    speed = np.concatenate((np.zeros(60), np.full(180, 1.3), np.zeros(60)))
    actions = [s.action for s in segments(track_of(motion_of(perform(speed, 5.0))))]
    assert actions[0] in ("idle", "start") and "start" in actions and "stop" in actions and "walk" in actions
    assert actions.index("start") < actions.index("walk") < actions.index("stop")


def seated(seconds: float) -> Track:
    """Standing, sitting down within some seconds, sitting for 2 s, rising in as many; the feet stay."""
    t = np.arange(round((6 + 2 * seconds) * FPS)) / FPS
    down = np.interp(t, [2, 2 + seconds, 4 + seconds, 4 + 2 * seconds], [0, 1, 1, 0])
    down = (1 - np.cos(np.pi * down)) / 2
    places = np.repeat(still().raw[:1], len(t), axis=0)
    upper = [j for j in range(len(MODEL_SKELETON)) if j not in FEET]
    places[:, upper, 1] += 0.4 * down[:, None]
    places[:, upper, 2] -= 0.42 * down[:, None]
    return track(places)


def bend(track: Track, angle: Array) -> None:
    """Bend all that is above the legs forward by an angle (T,) in radians, in place."""
    upper = [j for j in range(len(MODEL_SKELETON)) if MODEL_SKELETON.names[j] not in LEGS]
    tilt = np.repeat(from_axis_angle(np.array([1.0, 0.0, 0.0]), angle)[:, None], len(upper), axis=1)
    hips = track.raw[:, MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])].mean(axis=1, keepdims=True)
    track.raw[:, upper] = hips + rotate(tilt, track.raw[:, upper] - hips)


def test_sitting_down_and_rising_take_as_long_as_they_do() -> None:
    found = {s.action: s for s in segments(seated(1.2))}
    assert found["sit"].start < found["seated"].start < found["rise"].start
    assert found["sit"].seconds == pytest.approx(1.2, abs=0.3)
    assert found["rise"].seconds == pytest.approx(1.2, abs=0.3)
    assert "sit" not in {s.action for s in segments(seated(1.2), sits=False)}


def test_the_moment_of_a_grasp_is_when_the_hand_is_farthest_out() -> None:
    reaching = still(4.0)
    out = np.sin(np.clip((np.arange(len(reaching)) / FPS - 1) / 1.0, 0, 1) * np.pi)
    reaching.raw[:, MODEL_SKELETON.index("LeftHand"), 1] -= 0.6 * out
    (used,) = [s for s in segments(reaching, [Use("pick_up", 30, 200)]) if s.action == "pick_up"]
    assert used.event == pytest.approx(1.5 * FPS, abs=3)
    assert used.stop - used.start == pytest.approx(2 * FPS, abs=2)


@pytest.mark.parametrize("action", ["pick_up", "put_down", "open"])
def test_keys_that_use_a_thing_have_their_segments(action: str) -> None:
    motion = motion_of(stand(6.0))
    out = np.sin(np.clip(np.arange(len(motion)) / FPS - 3, 0, 1) * np.pi)
    motion.positions[:, MODEL_SKELETON.index("LeftHand"), 1] -= 0.6 * out
    key = {"action": action, "set_off": 0, "arrived": 260, "done": 260}
    found = measure(replace(motion, meta={"keys": [key]}))
    (event,) = [s.event for s, _ in found.parts if s.event is not None]
    assert event == pytest.approx(3.5 * FPS, abs=5)
    assert any("head_off_deg" in figures for s, figures in found.parts if s.action == action)


@pytest.mark.parametrize("bow", [20.0, 90.0])
def test_a_bow_of_a_body_that_sits_down_is_found(bow: float) -> None:
    sits = seated(1.2)
    bend(sits, np.radians(bow) * np.sin(np.clip(np.arange(len(sits)) / FPS - 2, 0, 1.2) / 1.2 * np.pi))
    (found,) = [f for s, f in measure_track(sits).parts if s.action == "sit"]
    assert found["lean_deg"] == pytest.approx(bow, abs=8)


def test_a_body_that_stands_bent_over_is_found() -> None:
    standing = still(4.0)
    bend(standing, np.full(len(standing), np.radians(45)))
    leans = [figures["lean_deg"] for s, figures in measure_track(standing).parts if s.action == "idle"]
    assert leans == pytest.approx([45.0] * len(leans), abs=8) and leans
    assert max(leans) > recorded.recorded()["idle", "lean_deg"].at(99.0)


@pytest.mark.parametrize("waits", [0.2, 2.5])
def test_a_wait_before_a_grasp_is_as_long_as_the_body_stands_there(waits: float) -> None:
    reaching = still(6.0)
    t = np.arange(len(reaching)) / FPS
    reaching.raw[..., 1] += 1.3 * np.maximum(2.0 - t, 0)[:, None]
    # The hand is farthest out half a second after it sets off.
    out = np.sin(np.clip(t - 2.0 - waits, 0, 1) * np.pi)
    reaching.raw[:, MODEL_SKELETON.index("LeftHand"), 1] -= 0.6 * out
    (found,) = [f for s, f in measure_track(reaching, [Use("pick_up", 130, 340)]).parts if s.action == "pick_up"]
    assert found["wait_s"] == pytest.approx(waits + 0.5, abs=0.1)


@pytest.mark.parametrize(("speed", "toward", "action"), [
    (1.2, 0.0, "walk"), (3.2, 0.0, "jog"), (0.8, np.pi, "backward"), (0.8, np.pi / 2, "sideways"), (0.0, 0.0, "idle"),
])  # fmt: skip
def test_steady_motion_is_what_it_is(speed: float, toward: float, action: str) -> None:
    performance = stand(4.0) if speed == 0 else perform(speed, toward=toward, cycle=0.7 if speed > 2 else 0.9)
    assert {s.action for s in segments(track_of_clip(performance.clip))} == {action}


def test_recordings_and_bakes_are_measured_alike() -> None:
    performance = perform(1.3)
    of_clip = measure_track(track_of_clip(performance.clip)).values()
    of_motion = measure(motion_of(performance)).values()
    assert of_clip.keys() == of_motion.keys()
    for key, values in of_clip.items():
        # Positions of a motion are float32: a hundredth of a micrometer, differentiated three times.
        assert of_motion[key] == pytest.approx(values, rel=0.02, abs=0.5), key


def test_hips_that_bob_are_measured_from_lowest_to_highest() -> None:
    walk = motion_of(perform(1.2))
    t = np.arange(len(walk)) / FPS
    walk.positions[..., 2] += 0.03 * np.sin(2 * np.pi * 1.8 * t)[:, None]
    assert max(measure(walk).values()["walk", "hips_bob"]) == pytest.approx(6.0, abs=1.2)


@pytest.mark.parametrize("bent", [0.0, 35.0])
def test_elbows_of_a_walk_are_bent_by_what_lies_between_their_bones(bent: float) -> None:
    places = perform(1.2).clip.world()[0].astype(float)
    for side in ("Left", "Right"):
        shoulder, elbow, hand = MODEL_SKELETON.indices([side + part for part in ("Arm", "ForeArm", "Hand")])
        places[:, elbow] = places[:, shoulder] + [0, 0, -0.3]
        places[:, hand] = places[:, elbow] + 0.3 * np.array([0, -np.sin(np.radians(bent)), -np.cos(np.radians(bent))])
    found = measure_track(track(places), action="walk").values()
    assert np.median(found["walk", "elbow_deg"]) == pytest.approx(bent, abs=2)


def test_a_raised_hand_is_found_but_not_that_of_a_carrier() -> None:
    raised = still()
    raised.raw[:, MODEL_SKELETON.index("LeftHand"), 2] = HIPS_HEIGHT + 0.5
    found = measure_track(raised).values()
    assert min(found["idle", "hand_height"]) > 0.5
    carrier = replace(raised, carrying=np.ones(len(raised), dtype=bool))
    assert ("idle", "hand_height") not in measure_track(carrier).values()


def test_findings_name_the_figures_that_are_farthest_from_people() -> None:
    walk = motion_of(perform(1.2))
    t = np.arange(len(walk)) / FPS
    walk.positions[..., 2] += 0.15 * np.sin(2 * np.pi * 1.8 * t)[:, None]
    found = findings(walk, depth_cm=30.0)
    assert len(found) == FINDINGS == len({one.measure for one in found})
    assert found == sorted(found, key=lambda one: -one.ratio)
    assert found[0].text == "Deepest in a thing 30.0 cm" and not found[0].natural
    assert any(one.text.startswith("Hips bob 3") and not one.natural for one in found)


@pytest.mark.parametrize("count", [1, 2, 3, 20, 45])
def test_very_short_motions_can_be_measured(count: int) -> None:
    assert all(np.isfinite(one.value) for one in findings(motion_of(perform(1.2)).sampled(np.arange(count))))


def test_percentiles_of_recordings_ship_for_every_action_and_measure_of_the_table() -> None:
    rows = recorded.recorded()
    for action in table.ACTIONS:
        for name in table.MEASURES:
            row = rows[action, name]
            assert row.count >= 10 and row.of in ("held out", "all")
            assert list(row.values) == sorted(row.values)


def test_joints_are_accelerated_less_at_a_lower_frame_rate_of_the_same_recording() -> None:
    track = track_of_clip(perform(1.3).clip)
    found = recorded._joint_accelerations(track, measure_track(track), ["walk"])
    assert set(found) == set(recorded.RATES) == {30, 60}
    joints = len(MODEL_SKELETON)
    for values in zip(found[60], found[30], strict=True):
        many, few = (np.reshape(one, (-1, joints)) for one in values)
        assert len(many) == pytest.approx(2 * len(few), abs=4)
        assert few.max() < many.max()
    assert set(recorded._joint_accelerations(replace(track, source_fps=30.0), measure_track(track), ["walk"])) == {30}


def test_percentiles_of_all_joints_ship_for_both_frame_rates() -> None:
    for rate in recorded.RATES:
        row = recorded.joint_acceleration(float(rate))
        assert row.of == "held out" and not row.reconstructed and list(row.values) == sorted(row.values)
        assert row.at(99.0) < 50 < row.at(99.9) < 100


def test_the_table_tells_ratios_crashes_and_refusals() -> None:
    free = Shot("free", 30.0, 150, keys=[ActionKey("walk", "there")], goals=[Goal("there", [0.0, -1.0, 0.0])])
    impossible = Shot("none", 30.0, 60, keys=[ActionKey("open", "there")], goals=[Goal("there", [0.0, -1.0, 0.0])])
    baked = table.carried_out(Case("walk", 1, free))
    short = table.carried_out(Case("walk", 5, replace(free, frames=15)))
    expected = table.carried_out(Case("door", 2, impossible, refusal="door"))
    wrong = table.carried_out(Case("door", 3, impossible))
    crashed = table.Outcome("chair", 4, "crashed", "IndexError: list index out of range")
    states = [one.state for one in (baked, short, expected, wrong)]
    assert states == ["baked", "not done", "refused", "refused wrongly"]
    found = table.Table([baked, short, expected, wrong, crashed])
    figures = found.figures()
    assert figures["naturalness.not_done"] == 1 and figures["naturalness.done.walk"] == 0.5
    assert figures["naturalness.crashes"] == 1 and figures["naturalness.refused_wrongly"] == 1
    actions = {action for action, _, _ in baked.values}
    assert actions and all(f"naturalness.{action}.root_speed.ratio" in figures for action in actions)
    assert any("chair 4 crashed" in text for text in found.troubles())


def test_motions_are_measured_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion_of(perform(1.3)).save(tmp_path / "walk.npz")
    out = tmp_path / "figures.json"
    assert main(["evaluate", "naturalness", "--motions", str(tmp_path / "walk.npz"), "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert figures["naturalness.walk.root_speed.p50"] == pytest.approx(1.3, abs=0.05)
    assert figures["meta"]["system"] == "naturalness"
    assert "walk.root_speed" in capsys.readouterr().out


def test_a_finished_motion_has_nothing_of_the_network_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion_of(perform(1.3)).save(tmp_path / "walk.npz")
    assert main(["evaluate", "naturalness", "--plain", "--motions", str(tmp_path / "walk.npz")]) == 1
    assert "--plain" in capsys.readouterr().err


def test_an_unknown_kind_of_case_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "naturalness", "--kinds", "flying"]) == 1
    assert "flying" in capsys.readouterr().err
