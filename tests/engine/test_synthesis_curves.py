# SPDX-License-Identifier: GPL-3.0-or-later
"""From curves to motions: the course is kept, feet are planted, changes stay local, crowds equal single ones.

Most networks here have random weights, so that the poses mean little; what is promised holds for any.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import ShotError
from nsm_blender.manifold.strike import FARTHEST, StrikeShot, StrikeSynthesis, Target
from nsm_blender.manifold.synthesis import Crowd, Networks, Options, Synthesis
from nsm_blender.manifold.synthesis_trajectory import BRAKING, course_of
from nsm_blender.models.manifold import FRAME, UNITS, WIDTH, Autoencoder
from nsm_blender.models.synthesis import (
    END_EFFECTOR_SHAPES,
    FEED_FORWARD_SHAPES,
    FOOTSTEP_SHAPES,
    LOCOMOTION,
    REACH,
    STRIKE_FRAMES,
    EndEffectors,
    FeedForward,
    Footsteps,
    Stepping,
)
from nsm_blender.motion.foot_lock import plant_feet
from nsm_blender.motion.mirror import mirror_vectors
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import from_exponential_map, multiply
from nsm_blender.motion.skeleton import (
    ANKLE_HEIGHT,
    CONTACT_JOINTS,
    HIPS_HEIGHT,
    MODEL_SKELETON,
    TOE_HEIGHT,
    mirror_indices,
)
from nsm_blender.paths import weights_folder
from nsm_blender.shot.shot import PathFollow, Shot, VelocityFollow, per_frame

from .synthetic import perform
from .test_synthesis_model import tensors

FPS = 60


@pytest.fixture(scope="module")
def networks() -> Networks:
    return Networks(manifold(), Footsteps(footsteps()), FeedForward(tensors(FEED_FORWARD_SHAPES, l=LOCOMOTION.size)))


def manifold() -> Autoencoder:
    standing = np.zeros(FRAME.size, dtype=np.float32)
    places = MODEL_SKELETON.rest_positions() + np.array([0, 0, HIPS_HEIGHT - 0.03])
    standing[FRAME.joint_position] = places.reshape(-1)
    w = np.random.default_rng(5).normal(0, 0.02, (UNITS, FRAME.size, WIDTH)).astype(np.float32)
    scale = np.full(FRAME.size, 0.02, dtype=np.float32)
    return Autoencoder({"w": w, "b": np.zeros(UNITS, np.float32), "mean": standing, "scale": scale})


def footsteps():
    out = tensors(FOOTSTEP_SHAPES, seed=3)
    out["y_mean"][:] = (-0.2, -0.2, -0.2, -0.2, 2 * np.pi / 60)
    out["y_scale"][:] = (0.1, 0.1, 0.1, 0.1, 0.005)
    return out


def line(
    speed, seconds: float = 4.0, *, fps: float = 30.0, length: float = 50.0, bend: float = 0.0, facing=0.0
) -> Shot:
    """A shot along x; `bend` moves the curve aside around 3 m, by that many meters."""
    frames = round(seconds * fps) + 1
    x = np.linspace(0, length, 2001)
    points = np.stack((x, bend * np.exp(-(((x - 3) / 0.7) ** 2)), 0 * x), axis=1)
    follow = PathFollow(points.tolist(), per_frame(speed, frames), ["walk"] * frames, per_frame(facing, frames))
    return Shot("Anna", fps, frames, follow)


def course(shot: Shot, count: int = 241, **options):
    assert shot.path is not None
    return course_of(shot.path, shot.fps, count, **options)


def test_the_course_keeps_curve_speed_and_facing():
    found = course(line(1.5, facing=0.5))
    np.testing.assert_allclose(found.track[:, 0], 1.5 * np.arange(241) / FPS, atol=1e-6)
    np.testing.assert_allclose(found.track[:, 1], 0, atol=1e-9)
    np.testing.assert_allclose(found.track[:, 2], np.pi / 2 + 0.5, atol=1e-6)  # along x is a quarter turn from -y
    np.testing.assert_allclose(np.linalg.norm(found.trajectory[:, :2], axis=1), 1.5, atol=1e-4)
    np.testing.assert_allclose(found.trajectory[:, 2], 0, atol=1e-4)


def test_a_keyed_jump_of_the_speed_takes_people_some_time():
    speeds = np.where(np.arange(121) < 60, 1.0, 3.0)
    found = course(line(speeds))
    assert np.abs(np.diff(found.speed)).max() * FPS < 5  # m/s^2
    np.testing.assert_allclose(found.speed[[30, 220]], (1, 3), atol=0.02)


def test_the_character_comes_to_rest_at_the_end_of_an_open_curve():
    found = course(line(1.5, length=4.0), count=400)
    np.testing.assert_allclose(found.track[-1, :2], (4, 0), atol=1e-3)
    assert (np.diff(found.track[:, 0]) > -1e-6).all() and np.abs(found.trajectory[-30:, :2]).max() < 1e-3
    assert np.abs(np.diff(found.speed)).max() * FPS < BRAKING * 1.2


def test_a_standing_start_begins_at_rest():
    found = course(line(1.5), standing_start=True)
    assert np.linalg.norm(found.trajectory[0, :2]) < 0.1
    np.testing.assert_allclose(found.speed[120], 1.5, atol=0.01)


def test_a_closed_curve_goes_round():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    points = np.stack((2 * np.cos(angle), 2 * np.sin(angle), 0 * angle), axis=1)
    follow = PathFollow(points.tolist(), [2.0] * 10, ["walk"] * 10, [0.0] * 10, closed=True)
    found = course_of(follow, 30.0, 600)
    np.testing.assert_allclose(np.linalg.norm(found.track[:, :2], axis=1), 2, atol=0.03)
    np.testing.assert_allclose(found.track[-1, 2] - found.track[0, 2], 2.0 * 599 / FPS / 2.0, rtol=0.01)


def feet(motion_places, contacts):
    """Horizontal speeds (m/s) of feet while they are in contact, by joint."""
    out = {}
    for column, name in enumerate(CONTACT_JOINTS):
        place = motion_places[:, MODEL_SKELETON.index(name)]
        on = (contacts[1:, column] > 0) & (contacts[:-1, column] > 0)
        out[name] = np.linalg.norm(np.diff(place[:, :2], axis=0), axis=1)[on] * FPS
    return out


@pytest.fixture(scope="module")
def sliding():
    """A walk whose feet slide and float: hips (1, T, 3), rotations, contacts in -1, 1."""
    walk = perform(1.3, 4.0)
    clip = walk.clip
    time = np.arange(len(clip)) / FPS
    places, rotations = clip.world()
    rotations = rotations.astype(float)
    for name, sign in (("LeftUpLeg", 1), ("RightUpLeg", -1)):
        sway = from_exponential_map(0.06 * np.stack((np.sin(5 * time), sign * np.cos(3 * time), 0 * time), axis=1))
        rotations[:, MODEL_SKELETON.index(name)] = multiply(rotations[:, MODEL_SKELETON.index(name)], sway)
    down = np.repeat(np.where(walk.down, 1.0, -1.0), 2, axis=1)
    return places[None, :, 0] + np.array([0, 0, 0.02]), rotations[None], down[None]


def test_planted_feet_stand_on_the_ground(sliding):
    hips, rotations, contacts = sliding
    before = feet(MODEL_SKELETON.positions(hips[0], rotations[0]), contacts[0])
    places, turned = plant_feet(hips, rotations, contacts)
    after = feet(places[0], contacts[0])
    assert np.concatenate(list(before.values())).mean() > 0.05
    assert np.concatenate(list(after.values())).max() < 1e-3
    toes = places[0][:, MODEL_SKELETON.indices(["LeftToe", "RightToe"]), 2]
    np.testing.assert_allclose(toes[contacts[0][:, [1, 3]] > 0], TOE_HEIGHT, atol=2e-3)
    ankles = places[0][:, MODEL_SKELETON.indices(["LeftFoot", "RightFoot"]), 2]
    assert ankles.min() > ANKLE_HEIGHT - 0.02
    np.testing.assert_allclose(MODEL_SKELETON.positions(places[0, :, 0], turned[0]), places[0], atol=1e-6)


def test_the_foot_lock_does_not_jerk(sliding):
    hips, rotations, contacts = sliding
    before = np.abs(np.diff(MODEL_SKELETON.positions(hips[0], rotations[0]), 2, axis=0)).max()
    after = np.abs(np.diff(plant_feet(hips, rotations, contacts)[0][0], 2, axis=0)).max()
    assert after < 2 * before


def test_characters_planted_together_do_not_touch_each_other(sliding):
    hips, rotations, contacts = sliding
    other = contacts[:, ::-1].copy()
    both, _ = plant_feet(*(np.concatenate(pair) for pair in ((hips, hips), (rotations, rotations), (contacts, other))))
    np.testing.assert_allclose(both[0], plant_feet(hips, rotations, contacts)[0][0], atol=1e-9)
    np.testing.assert_allclose(both[1], plant_feet(hips, rotations, other)[0][0], atol=1e-9)


def test_feet_stand_on_terrain(sliding):
    hips, rotations, contacts = sliding

    def ground(places):
        return 0.1 * np.sin(places[..., 0] + places[..., 1])

    lifted = hips + np.concatenate((np.zeros((*hips.shape[:2], 2)), ground(hips[..., :2])[..., None]), axis=-1)
    places, _ = plant_feet(lifted, rotations, contacts, ground)
    for column, name in ((1, "LeftToe"), (3, "RightToe")):
        toe = places[0][contacts[0][:, column] > 0, MODEL_SKELETON.index(name)]
        np.testing.assert_allclose(toe[:, 2], ground(toe[:, :2]) + TOE_HEIGHT, atol=0.015)


def test_a_synthesis_has_the_shots_frames_and_rigid_bones_and_follows_the_curve(networks):
    shot = line(1.2, seconds=3.0, bend=0.5)
    synthesis = Synthesis(shot, Options(sway=0), networks)
    seen = [synthesis.progress]
    while not synthesis.done:
        synthesis.step()
        seen.append(synthesis.progress)
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == pytest.approx(1)
    motion = synthesis.motion()
    assert len(motion) == shot.frames and motion.fps == shot.fps
    lengths = np.linalg.norm(motion.positions[:, 1:] - motion.positions[:, list(MODEL_SKELETON.parents[1:])], axis=-1)
    wanted = np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=-1)
    np.testing.assert_allclose(lengths, np.broadcast_to(wanted, lengths.shape), atol=1e-4)
    expected = course(shot, 181).track[::2, :2]
    np.testing.assert_allclose(motion.root[:, :2], expected, atol=1e-3)


def test_the_hips_sway_around_the_curve_but_do_not_leave_it(networks):
    shot = line(1.2, seconds=6.0)
    away = Synthesis(shot, Options(sway=1), networks).motion().root[:, 1]
    assert 0 < np.abs(away).max() < 0.05


def test_more_steps_with_a_higher_frequency(networks):
    strikes = []
    for frequency in (1.0, 1.5):
        synthesis = Synthesis(line(1.2, 6.0), Options(Stepping(frequency=frequency)), networks)
        strikes.append(np.count_nonzero(np.diff(synthesis.contacts()[:, 1]) > 0))
    assert strikes[1] == pytest.approx(1.5 * strikes[0], abs=1)


def test_a_changed_curve_changes_the_motion_near_the_change_only(networks):
    before = Synthesis(line(1.0, 16.0), None, networks)
    before.motion()
    changed = line(1.0, 16.0, bend=0.15)
    after = Synthesis(changed, None, networks, previous=before)
    np.testing.assert_array_equal(after.frames()[-300:], before.frames()[-300:])
    assert np.abs(after.frames()[120:240] - before.frames()[120:240]).max() > 1e-3
    np.testing.assert_array_equal(after.contacts()[-300:], before.contacts()[-300:])
    fresh = Synthesis(changed, None, networks)
    np.testing.assert_allclose(after.frames()[60:180], fresh.frames()[60:180], atol=0.05)


def test_kept_frames_equal_those_made_anew(networks):
    before = Synthesis(line(1.0, 10.0), None, networks)
    before.motion()
    again = Synthesis(line(1.0, 10.0), None, networks, previous=before)
    np.testing.assert_allclose(again.motion().positions, before.motion().positions, atol=1e-6)


@pytest.mark.parametrize("ground", [None, lambda places: 0.1 * np.sin(places[..., 0])])
def test_a_crowd_is_its_characters_one_by_one(networks, ground):
    shots = [line(1.0, 3.0), line(1.6, 4.0, bend=0.4), line(0.5, 2.0)] * 5
    options = [Options(phase=0.3), Options(), Options(phase=2.0, sway=0.5)] * 5
    crowd = Crowd(shots, options, networks, ground=ground, spacing=None)
    motions = crowd.motions()
    assert crowd.done and crowd.progress == 1
    for shot, option, motion in zip(shots, options, motions, strict=True):
        single = Synthesis(shot, option, networks, ground=ground).motion()
        assert len(motion) == shot.frames
        # Beside a longer one the last frames are not the very end, and the feet are on their way to the next step.
        np.testing.assert_allclose(motion.positions[:-30], single.positions[:-30], atol=1e-4)


def test_shots_that_cannot_be_made_are_refused(networks):
    pad = VelocityFollow([[1.0, 0.0]] * 121, [0.0] * 121, ["walk"] * 121)
    with pytest.raises(ShotError, match="needs a curve"):
        Synthesis(replace(line(1.0), path=None, velocity=pad), None, networks)
    with pytest.raises(ShotError, match="no characters"):
        Crowd([], None, networks)
    with pytest.raises(ShotError, match="2 sets of options"):
        Crowd([line(1.0)], [Options(), Options()], networks)


@pytest.fixture(scope="module")
def striker() -> EndEffectors:
    out = tensors(END_EFFECTOR_SHAPES, l=REACH.size)
    out["profile"][:] = 0
    rise = np.exp(-0.5 * (np.arange(-STRIKE_FRAMES, STRIKE_FRAMES + 1) / 10) ** 2)
    out["profile"][:, :, 1:] = rise[:, None, None] * np.eye(3)
    out["target"][:] = (0.3, -0.4, 1.3)
    return EndEffectors(out)


@pytest.mark.parametrize(
    ("effector", "place"),
    [("LeftHand", (0.3, -0.35, 1.4)), ("RightHand", (-0.2, -0.4, 1.2)), ("RightToe", (-0.1, -0.5, 0.4))],
)
def test_hand_or_foot_is_at_the_target_at_its_time(striker, effector, place):
    shot = StrikeShot("Anna", 30.0, 91, [Target(effector, place, 1.5)], start=(0.0, 0.0, 0.0), facing=0.0)
    synthesis = StrikeSynthesis(shot, manifold(), striker)
    motion = synthesis.motion()
    assert len(motion) == 91 and motion.fps == 30
    assert np.linalg.norm(motion.positions[45, motion.names.index(effector)] - place) < 0.005
    before, after = synthesis.hit_errors()
    assert after[0] < 0.005 < before[0]
    lengths = np.linalg.norm(motion.positions[:, 1:] - motion.positions[:, list(MODEL_SKELETON.parents[1:])], axis=-1)
    np.testing.assert_allclose(
        lengths, np.broadcast_to(np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=-1), lengths.shape), atol=1e-4
    )


def test_without_a_start_the_character_stands_where_it_hits_well(striker):
    shot = StrikeShot("Anna", 30.0, 91, [Target("RightHand", (5.0, 5.0, 1.3), 1.5)])
    motion = StrikeSynthesis(shot, manifold(), striker).motion()
    np.testing.assert_allclose(motion.root[0], (5.3, 5.4, 0, 0), atol=0.01)


def test_without_a_facing_the_character_turns_to_the_target(striker):
    shot = StrikeShot("Anna", 30.0, 91, [Target("LeftHand", (0.5, 0.0, 1.3), 1.5)], start=(0.0, 0.0, 0.0))
    facing = StrikeSynthesis(shot, manifold(), striker).motion().root[0, 3]
    # The usual place of a left hit, (0.3, -0.4), lies 37 degrees to the left of straight ahead.
    assert facing == pytest.approx(np.pi / 2 - np.arctan2(0.3, 0.4), abs=1e-3)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([], "no target"),
        ([Target("Nose", (0, -0.5, 1), 1.0)], "'Nose' is not one of LeftHand"),
        ([Target("LeftHand", (0, -0.5, 1), 9.0)], "outside the shot's frames"),
        ([Target("LeftHand", (0, -FARTHEST - 1, 1), 1.0)], "2.6 m away"),
        ([Target("LeftHand", (0, -0.5, 1), 1.0), Target("RightHand", (0, -0.5, 1), 1.2)], "less than 0.5 s apart"),
        ([Target("LeftHand", (0, float("nan"), 1), 1.0)], "not a finite number"),
    ],
)
def test_targets_that_cannot_be_hit_are_refused(striker, targets, message):
    with pytest.raises(ShotError, match=message):
        StrikeSynthesis(StrikeShot("Anna", 30.0, 91, targets, (0.0, 0.0, 0.0)), manifold(), striker)


@pytest.fixture(scope="module")
def kicks() -> dict[str, tuple[StrikeShot, Motion]]:
    """Kicks by the shipped weights: both feet, low to high, near and far."""
    folder = weights_folder()
    autoencoder = Autoencoder.load(folder / "autoencoder.safetensors")
    network = EndEffectors.load(folder / "end_effectors.safetensors")
    out = {}
    for side, sign in (("Left", 1), ("Right", -1)):
        for height in (0.5, 0.9, 1.25):
            for far in (0.8, 1.2):
                target = Target(side + "Toe", (0.15 * sign, -far, height), 1.5)
                shot = StrikeShot("Anna", 60.0, 180, [target], (0.0, 0.0, 0.0), 0.0)
                out[f"{side} {height} {far}"] = shot, StrikeSynthesis(shot, autoencoder, network).motion()
    return out


def test_no_kick_throws_its_knee_about(kicks):
    """Recorded knees of kicks stay below 400 m/s^2 in 99.9 of 100 frames."""
    for name, (_, motion) in kicks.items():
        knee = motion.positions[:, motion.names.index(name.split()[0] + "Leg")].astype(float)
        assert np.linalg.norm(np.diff(knee, 2, axis=0), axis=1).max() * 60**2 < 400, name


def test_kicks_hit_with_a_leg_that_is_nearly_straight(kicks):
    bends = []
    for name, (_, motion) in kicks.items():
        side = name.split()[0]
        hip, knee, ankle = (
            motion.positions[90, motion.names.index(side + part)].astype(float) for part in ("UpLeg", "Leg", "Foot")
        )
        thigh, shin = knee - hip, ankle - knee
        bends.append(np.degrees(np.arccos(thigh @ shin / np.linalg.norm(thigh) / np.linalg.norm(shin))))
    assert max(bends) < 60 and np.median(bends) < 40


def test_a_kick_by_the_other_leg_is_the_mirror_image(kicks):
    order = mirror_indices(MODEL_SKELETON.names)
    for name, (_, motion) in kicks.items():
        if name.startswith("Left"):
            other = kicks[name.replace("Left", "Right")][1]
            np.testing.assert_allclose(mirror_vectors(motion.positions[:, order]), other.positions, atol=2e-3)
