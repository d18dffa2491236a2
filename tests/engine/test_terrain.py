# SPDX-License-Identifier: GPL-3.0-or-later
"""Ground fitted to recorded motion: patches are what they say, fits carry the feet, the network is told that ground."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.geometry.ground import Ground
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.models.pfnn import ASIDE, CHARACTER_INPUT, CURRENT, INPUT, LEVEL, OUTPUT, SAMPLES
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import update_library
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.proportions import MODEL_PROPORTIONS, PROPORTIONS, proportions
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, Skeleton
from nsm_blender.training.pfnn_data import prepare, whole_frames
from nsm_blender.training.terrain.data import (
    build,
    choose,
    contacts_at_any_height,
    fit_errors,
    ground_track,
    prepare_uneven,
    under_trajectory,
    with_ground,
)
from nsm_blender.training.terrain.fitting import BEST, JUMP_REACH, RECORDED, Feet, fit_cycle, fitting_error
from nsm_blender.training.terrain.patches import SHARES, Library, Patches
from nsm_blender.training.terrain.recorded import recorded_ground

from .synthetic import perform

RISE, TREAD = 0.17, 0.3


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(300, 5)


def one(kind: str, *numbers: float) -> Patches:
    return Patches(kind, np.zeros(1), np.zeros((1, 2)), np.array([numbers]))


def along(*x: float) -> Array:
    return np.stack((np.array(x), np.zeros(len(x))), axis=1)


def test_stairs_have_the_steps_that_they_are_built_with() -> None:
    flight = one("stairs", RISE, TREAD, 3, 1.0, 1)
    found = flight.heights(along(-0.1, 0.1, 0.29, 0.31, 0.61, 1.5, 1.95, 2.3, 9.0))[0]
    np.testing.assert_allclose(found, RISE * np.array([0, 1, 1, 2, 3, 3, 2, 1, 0]))


def test_beams_stand_upright_and_ramps_are_level_beyond_their_ends() -> None:
    np.testing.assert_allclose(
        one("beam", 0.4, 0.2, 2.0).heights(along(0, 0.09, 0.11, 1.0, 2.05))[0], [0.4, 0.4, 0, 0, 0.4]
    )
    np.testing.assert_allclose(one("ramp", 0.5, 2.0).heights(along(-1, 0, 1, 2, 5))[0], [0, 0, 0.5, 1, 1])


def test_a_patch_is_turned_and_shifted_as_a_whole() -> None:
    straight = one("stairs", RISE, TREAD, 3, 1.0, 1)
    turned = Patches("stairs", np.array([0.5 * np.pi]), np.array([[0.2, -0.4]]), straight.numbers)
    places = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    moved = np.stack((-places[:, 1], places[:, 0]), axis=1) + np.array([0.2, -0.4])
    np.testing.assert_allclose(turned.heights(moved), straight.heights(places), atol=1e-9)


def test_a_library_holds_every_kind_and_repeats_itself_by_its_seed(library: Library) -> None:
    places = np.random.default_rng(1).uniform(-2, 2, (40, 2))
    heights = library.heights(places)
    assert heights.shape == (len(library), 40)
    assert np.isfinite(heights).all()
    assert {library.kind(n) for n in range(len(library))} == set(SHARES)
    np.testing.assert_array_equal(heights, Library(300, 5).heights(places))
    assert not np.array_equal(heights, Library(300, 6).heights(places))
    for number in (0, 57, len(library) - 1):
        np.testing.assert_allclose(library.chosen(number, places), heights[number])


def test_the_fitting_error_is_the_papers(library: Library) -> None:
    rng = np.random.default_rng(2)
    h, f = rng.normal(0, 0.4, (3, 30)), rng.normal(0, 0.4, 30)
    contact, jump = rng.random(30) < 0.5, rng.random(30) < 0.5
    expected = np.zeros(3)
    for p in range(3):
        for i in range(30):
            if contact[i]:
                expected[p] += (h[p, i] - f[i]) ** 2
            else:
                expected[p] += max(h[p, i] - f[i], 0) ** 2
                expected[p] += jump[i] * max((f[i] - JUMP_REACH) - h[p, i], 0) ** 2
    np.testing.assert_allclose(fitting_error(h, f, contact, jump), expected)


def climbing(rise: float = RISE, jump: float = 0.0) -> Feet:
    """Feet that step from tread to tread of stairs, or that jump across something on the floor."""
    frames, step = 120, 30
    places = np.zeros((frames, 4, 3))
    contacts = np.zeros((frames, 4), dtype=bool)
    for foot in (0, 1):
        for n in range(frames // step):
            swings = n % 2 == foot
            t = np.linspace(0, 1, step)[:, None]
            behind, ahead = n - (1 if swings else 0), n + 1 if swings else n
            way = behind + t * (ahead - behind)
            lift = (0.12 + jump) * np.sin(np.pi * t) if swings else 0 * t
            for joint, reach in ((2 * foot, 0.0), (2 * foot + 1, 0.12)):
                rows = slice(n * step, (n + 1) * step)
                places[rows, joint, 0] = (TREAD * way[:, 0]) + reach + 0.05
                places[rows, joint, 1] = 0.1 if foot else -0.1
                places[rows, joint, 2] = rise * np.maximum(way[:, 0], behind) + lift[:, 0]
                contacts[rows, joint] = not swings
    return Feet(places, contacts, np.full(frames, jump > 0), np.linspace(0, 4 * np.pi, frames, endpoint=False))


def test_the_best_patches_come_first_and_carry_the_feet_once_refined(library: Library) -> None:
    feet = climbing()
    found = fit_cycle(feet, 30, 90, library)
    assert len(found) == BEST
    assert [e.fit for _, e in found] == sorted(e.fit for _, e in found)
    down = feet.contacts[30:90]
    for fit, errors in found:
        gap = fit.heights(feet.places[30:90, :, :2])[down] - feet.places[30:90][down][:, 2]
        assert np.abs(gap).max() < 0.01
        assert errors.stand < 0.01


def test_a_high_jump_is_fitted_to_higher_ground_than_a_step(library: Library) -> None:
    def crossed(jump: float) -> float:
        feet = climbing(rise=0.0, jump=jump)
        lifted = ~feet.contacts[30:90]
        under = [fit.heights(feet.places[30:90, :, :2])[lifted].max() for fit, _ in fit_cycle(feet, 30, 90, library)]
        return float(np.mean(under))

    assert crossed(0.6) > crossed(0.0) + 0.05


def test_cycles_cover_every_frame_once_also_where_nothing_strikes() -> None:
    feet = climbing()
    for phase in (feet.phase, np.zeros(700), np.linspace(0, 1, 50)):
        cycles = Feet(np.zeros((len(phase), 4, 3)), np.zeros((len(phase), 4), bool), phase > 9, phase).cycles()
        covered = np.concatenate([np.arange(a, b) for a, b in cycles])
        np.testing.assert_array_equal(covered, np.arange(len(phase)))


def raised(height: float) -> Clip:
    clip = perform(1.2, 6.0).clip
    return Clip(clip.skeleton, clip.root + np.array([0, 0, height]), clip.rotations, clip.fps, {"name": "raised"})


def test_who_walks_on_a_platform_has_contacts_gait_and_ground_as_on_the_floor() -> None:
    floor, platform = prepare(raised(0.0)), prepare_uneven(raised(0.8))
    assert (floor.labels.contacts == contacts_at_any_height(platform.positions)).mean() > 0.97
    assert (floor.labels.gait == platform.labels.gait).mean() > 0.97
    np.testing.assert_allclose(ground_track(platform.positions, platform.labels.contacts), 0.8, atol=0.02)


def test_the_ground_beside_the_trajectory_is_right_center_left() -> None:
    places = under_trajectory(np.array([[1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.5 * np.pi]]))
    np.testing.assert_allclose(places[0], [[1 - ASIDE, 2], [1, 2], [1 + ASIDE, 2]], atol=1e-9)
    np.testing.assert_allclose(places[1], [[1, 2 - ASIDE], [1, 2], [1, 2 + ASIDE]], atol=1e-9)


def test_the_network_is_told_a_ground_on_which_its_feet_stand(library: Library) -> None:
    prepared = prepare(perform(1.2, 6.0).clip)
    found, errors = with_ground(prepared, MODEL_PROPORTIONS, library)
    features = found.drawn(np.random.default_rng(0))
    frames = whole_frames(len(prepared.labels.root))
    assert len(features.x) == len(frames)
    assert features.x.shape[1] == CHARACTER_INPUT.size
    assert len(errors) >= BEST
    terrain = features.x[:, INPUT.terrain_height].reshape(-1, SAMPLES, 3)
    np.testing.assert_allclose(terrain[:, LEVEL, 1].mean(1), 0, atol=0.002)
    # On the fitted ground the toe's height above the root is that of the ground below it, where the toe stands near
    # the sample at the root's own place; the fits differ, so the ground there is not level.
    toe = CONTACT_JOINTS.index("LeftToe")
    down = prepared.labels.contacts[frames, toe] > 0.5
    joint = MODEL_SKELETON.index("LeftToe")
    place = features.y[:, OUTPUT.joint_position].reshape(len(frames), -1, 3)[:, joint]
    below = down & (np.abs(place[:, 1]) < 0.08)
    ground = terrain[:, CURRENT, 1] + (terrain[:, CURRENT, 2] - terrain[:, CURRENT, 1]) * place[:, 0] / ASIDE
    assert below.sum() > 20
    error = place[below, 2] - 0.02 - ground[below]
    assert np.median(np.abs(error)) < 0.02
    assert np.ptp(terrain[:, CURRENT].astype(float)) > 0.02


def test_only_a_clip_of_jumps_teaches_the_gait_of_a_jump(library: Library) -> None:
    prepared = prepare(perform(1.2, 6.0).clip)
    gait = prepared.labels.gait.copy()
    gait[150:190] = GAITS.index("jump")
    flying = replace(prepared, labels=replace(prepared.labels, gait=gait))

    def taught(jumps: bool) -> Array:
        found, _ = with_ground(flying, MODEL_PROPORTIONS, library, jumps)
        out: Array = found.base.x[:, INPUT.gait].reshape(-1, SAMPLES, len(GAITS)).max((0, 1))
        return out

    assert taught(True)[GAITS.index("jump")] > 0.9
    assert taught(False)[GAITS.index("jump")] == 0
    assert taught(False)[GAITS.index("jog")] > 0.9


def test_the_character_value_is_the_builds_and_not_the_poses() -> None:
    assert len(MODEL_PROPORTIONS) == len(PROPORTIONS)
    larger = Skeleton(MODEL_SKELETON.names, MODEL_SKELETON.parents, 1.2 * MODEL_SKELETON.offsets)
    np.testing.assert_allclose(proportions(larger)[1:], MODEL_PROPORTIONS[1:], rtol=1e-5)
    assert proportions(larger)[0] == pytest.approx(1.2 * MODEL_PROPORTIONS[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips of three performers: walks, a platform, and what is no plain locomotion."""
    path = tmp_path_factory.mktemp("data")
    told = [
        ("walk", "a", ["walk"], 0.0),
        ("platform", "a", ["walk", "step_up"], 0.5),
        ("platform_level", "a", ["walk", "step_up"], 0.4),
        ("carry", "a", ["walk", "carry"], 0.0),
        ("sad", "a", ["walk", "style:sad"], 0.0),
        ("bars", "a", ["climb", "jump"], 0.0),
        ("other", "b", ["walk"], 0.0),
        ("doubtful", "?", ["walk"], 0.0),
    ]
    clips = []
    for name, subject, tags, height in told:
        clip = raised(height)
        meta = {"name": name, "subject": subject, "tags": tags, "licence": "CC0"}
        clips.append(Clip(clip.skeleton, clip.root, clip.rotations, clip.fps, meta))
    update_library(path, clips)
    return path


def test_style_free_locomotion_of_certain_performers_is_chosen(folder: Path) -> None:
    names = {entry.name for entry in choose(folder, [], ["b"], ["?"])}
    assert names == {"walk", "platform_level", "other"}
    with pytest.raises(FileFormatError, match="no locomotion clip"):
        choose(folder, [], ["a", "b"], ["?"])


def test_held_out_performers_are_never_trained_on(folder: Path) -> None:
    found = build(folder, [], ["b"], ["?"], [], 40, 1, log=lambda _: None)
    assert found.data.clips == ["walk", "platform_level"]
    assert found.held_out == ["b"]
    assert list(found.performers) == ["a"]
    np.testing.assert_allclose(found.performers["a"], MODEL_PROPORTIONS, atol=1e-4)
    assert found.performer == "a"
    assert "walk" in found.gaits["a"]
    assert "crouch" not in found.gaits["a"]
    np.testing.assert_allclose(found.data.x_mean[CHARACTER_INPUT.character], found.performers["a"], atol=1e-4)
    assert len(found.data.train.x) == 4 * len(found.data.held_out.x)  # two clips and their mirror images
    assert set(found.errors) == {"even", "uneven"}
    with pytest.raises(FileFormatError, match="held-out performers"):
        build(folder, [], [], ["?"], [], 40, 1, log=lambda _: None)


def test_fit_errors_are_told_of_even_and_uneven_ground(folder: Path) -> None:
    errors = fit_errors(folder, 40, 1)
    assert errors["even"]["stand_cm.p95"] < 1.5
    assert errors["uneven"]["fits"] >= BEST


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("ending", [".objects.json", ".ground.json"])
def test_ground_that_was_recorded_lies_under_the_model_as_it_lay_under_the_performer(
    mirrored: bool, ending: str, tmp_path: Path
) -> None:
    block = {"kind": "climbable", "position": [1.0, -2.0, 0.0], "facing": [1.0, 0.0, 0.0], "size": [2.0, 0.6, 0.5]}
    (tmp_path / f"clip{ending}").write_text(json.dumps([block]))
    larger = Skeleton(MODEL_SKELETON.names, MODEL_SKELETON.parents, 2 * MODEL_SKELETON.offsets)
    ground = recorded_ground(tmp_path / "clip.npz", larger, mirrored)
    assert ground is not None
    side = -1 if mirrored else 1
    on, beside = (
        np.array([[0.5 * side, -1.45], [0.6 * side, -0.6]]),
        np.array([[0.8 * side, -1.0], [-0.5 * side, -1.0]]),
    )
    np.testing.assert_allclose(ground.height(on), 0.25, atol=1e-6)
    np.testing.assert_allclose(ground.height(beside), 0, atol=1e-6)
    assert recorded_ground(tmp_path / "other.npz", larger) is None


def test_a_recorded_ground_is_taken_in_place_of_patches_and_bent_to_the_feet(library: Library) -> None:
    prepared = prepare_uneven(raised(0.52))
    box = TriangleMesh(
        np.array([[-9.0, -20, 0.5], [9, -20, 0.5], [9, 9, 0.5], [-9, 9, 0.5]]), np.array([[0, 1, 2], [0, 2, 3]])
    )
    found, errors = with_ground(prepared, MODEL_PROPORTIONS, library, recorded=Ground.of([box]))
    assert {error.number for error in errors} == {RECORDED}
    assert max(error.fit for error in errors) > 0.01
    assert max(error.stand for error in errors) < 0.005
    np.testing.assert_allclose(found.datum, 0.52, atol=0.01)


def test_cycles_in_which_feet_hang_above_the_recorded_ground_teach_nothing(library: Library) -> None:
    found, errors = with_ground(prepare_uneven(raised(0.6)), MODEL_PROPORTIONS, library, recorded=Ground())
    assert len(found.base.x) == len(found.heights) == len(found.datum) == 0
    assert errors == []
