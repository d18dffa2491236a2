# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own captures: what is told beside a clip replaces what would be fitted; corrected labels are kept to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.errors import FileFormatError
from nsm_blender.geometry.colliders import Cuboids, Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.obj_file import read_obj, write_obj
from nsm_blender.geometry.roles import Seat
from nsm_blender.geometry.shapes import block
from nsm_blender.labels.marks import marks_beside
from nsm_blender.models.nsm import FPS
from nsm_blender.motion.clip_file import CLIPS_FOLDER, load_clip, up_z_to_y
from nsm_blender.motion.root import angle_of, direction
from nsm_blender.motion.rotations import Array, from_yaw, rotate
from nsm_blender.motion.skeleton import SEAT_BELOW_HIP_JOINTS
from nsm_blender.training.episodes.carry_episodes import carry_episode
from nsm_blender.training.episodes.climbing import captured_flight
from nsm_blender.training.episodes.episode import Episode
from nsm_blender.training.episodes.lifting import captured_lifts, standing_lifts
from nsm_blender.training.episodes.open_episodes import Walks, open_episode, opened_as_recorded
from nsm_blender.training.episodes.opening import captured_openings
from nsm_blender.training.episodes.pool import Pool, recorded_tracks
from nsm_blender.training.episodes.props import Frame, imported_props, objects_beside, read_props, write_props
from nsm_blender.training.episodes.sit_episodes import sit_episode
from nsm_blender.training.episodes.sitting import captured_sits, recorded_sits
from nsm_blender.training.episodes.track import Track

from .captures import HIP_JOINTS, SEATED, capture_of, clip_of, keep, sits_down
from .test_episodes import come_and_go, flight, walk

TURN = 0.7
"""Radians by which captures are turned, so that nothing lies along the axes by chance."""


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool([come_and_go(turn) for turn in (-2.8, -1.5, 0.0, 1.5, 2.8)] + [walk(0.8)])


@pytest.fixture(scope="module")
def sitting() -> tuple[Track, Array]:
    return sits_down(come_and_go(0.0).moved(TURN, np.zeros(2), np.array([1.0, 2.0])))


def a_seat(place: Array, **more: Any) -> dict[str, Any]:
    return {"kind": "seat", "position": place.tolist(), **more}


def looking(angle: float) -> list[float]:
    return [*direction(np.array(angle)).tolist(), 0.0]


def labeled(folder: Path, name: str) -> dict[str, Any]:
    """The labels of a clip, as the command writes them."""
    out = folder / "labels.json"
    assert main(["data", "label", str(folder / CLIPS_FOLDER / f"{name}.npz"), "--out", str(out)]) == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def correct(folder: Path, name: str, labels: dict[str, Any]) -> None:
    """Put corrected labels beside a clip."""
    marks_beside(folder / CLIPS_FOLDER / f"{name}.npz").write_text(json.dumps(labels))


def test_the_character_sits_on_the_seat_that_is_told(tmp_path: Path, sitting: tuple[Track, Array], pool: Pool) -> None:
    track, place = sitting
    told = a_seat(place, facing=looking(TURN + 0.1), size=[0.5, 0.42, 0.08])
    keep(tmp_path, clip_of(track, "sits", "ben"), [told])
    (sit,) = recorded_sits(tmp_path)
    assert sit.subject == "ben" and sit.seat_height == pytest.approx(place[2], abs=0.01)
    # The sitter is turned from the way the seat faces.
    assert sit.track.root()[round(sum(sit.seated) / 2), 3] == pytest.approx(-0.1, abs=0.03)
    made = (sit_episode(pool, [sit], np.random.default_rng(seed), "sit") for seed in range(40))
    episode = next(e for e in made if isinstance(e, Episode) and e.colliders[0].name.endswith("seat"))
    seat = episode.colliders[0]
    np.testing.assert_allclose(2 * seat.cuboids.half, [[0.5, 0.42, 0.08]])
    assert isinstance(seat.handles, Seat)
    assert (seat.handles.width, seat.handles.depth) == (pytest.approx(0.5), pytest.approx(0.42))
    seated = episode.track.cut(*(np.flatnonzero(episode.touching[:, 2])[[0, -1]]))
    np.testing.assert_allclose(seated.hips[:, :2].mean(0), [0.0, 0.0], atol=0.02)
    joints = seated.positions()[:, HIP_JOINTS, 2].mean()
    assert joints == pytest.approx(place[2] + SEAT_BELOW_HIP_JOINTS, abs=0.02)


def test_a_mesh_says_by_itself_where_its_seat_is(tmp_path: Path, sitting: tuple[Track, Array]) -> None:
    track, place = sitting
    piece = next(p for p in (make("armchair", seed) for seed in range(1, 60)) if p.handles and p.handles.arm_rests)
    assert isinstance(piece.handles, Seat)
    turn = TURN - float(angle_of(np.array(piece.handles.facing[:2])))
    turned = rotate(np.broadcast_to(from_yaw(np.array(turn)), (len(piece.mesh.vertices), 4)), piece.mesh.vertices)
    shift = place - rotate(from_yaw(np.array(turn)), np.array(piece.handles.place))
    clip = keep(tmp_path, clip_of(track, "sits"), [{"kind": "seat", "mesh": "chair.obj"}])
    write_obj(TriangleMesh(turned + shift, piece.mesh.triangles), clip.with_name("chair.obj"))
    (sit,) = captured_sits(capture_of(tmp_path, "sits"))
    assert sit.shape is not None
    assert abs(sit.track.root()[round(sum(sit.seated) / 2), 3]) < 0.1
    assert len(sit.shape.seat.arm_rests) == 2
    # The hips sit above it, and not in a void.
    on = Surroundings([sit.shape.collider("chair")]).at(0)
    assert on.distance(np.array([[0.0, 0.0, sit.seat_height - 0.02]]))[0] < 0.03


def test_a_seat_without_any_sitting_is_refused(tmp_path: Path, sitting: tuple[Track, Array]) -> None:
    track, place = sitting
    keep(tmp_path, clip_of(track, "sits"), [a_seat(place + np.array([1.0, 0.0, 0.0]))])
    with pytest.raises(FileFormatError, match=r"seat 1 is 1\.0\d m aside of .* check position, axes and unit"):
        recorded_sits(tmp_path)
    keep(tmp_path, clip_of(walk(1.0), "sits"), [a_seat(place)])
    with pytest.raises(FileFormatError, match="no sitting down was found"):
        recorded_sits(tmp_path)


def test_a_box_is_lifted_when_and_where_it_is_told(tmp_path: Path, pool: Pool) -> None:
    lifts = standing_lifts(pool.tracks)
    made = (carry_episode(pool, lifts, np.random.default_rng(seed), "carry") for seed in range(60))
    episode = next(e for e in made if isinstance(e, Episode) and e.touching[0, 0] == 0)
    held = np.flatnonzero(episode.touching[:, 0])
    box = episode.colliders[0]
    size = (box.cuboids.center + box.cuboids.half).max(0) - (box.cuboids.center - box.cuboids.half).min(0)
    low = box.poses[0, :3] + [0.0, 0.0, float((box.cuboids.center - box.cuboids.half)[:, 2].min())]
    told = {
        "kind": "box",
        "position": low.tolist(),
        "facing": [0.0, 1.0, 0.0],
        "size": size.tolist(),
        "from": held[0] / FPS,
    }
    keep(tmp_path, clip_of(episode.track, "lifts", "cleo"), [told])
    (lift,) = captured_lifts(capture_of(tmp_path, "lifts"))
    assert lift.way == "up" and lift.grasp == held[0] and lift.span[0] < lift.grasp < lift.span[1]
    assert lift.box is not None and lift.box.width == pytest.approx(size[0])
    labels = labeled(tmp_path, "lifts")
    scene = labels["scene"]
    last = len(episode) - 1
    assert scene["transitions"] == [list(lift.span)] and scene["actions"]["carry"] == [[lift.span[0], last]]
    assert scene["touching"]["LeftHand"] == scene["touching"]["RightHand"] == [[lift.grasp, last]]
    scene["touching"]["LeftHand"] = scene["touching"]["RightHand"] = [[lift.grasp + 4, last]]
    correct(tmp_path, "lifts", labels)
    (later,) = captured_lifts(capture_of(tmp_path, "lifts"))
    assert (later.grasp, later.span) == (lift.grasp + 4, lift.span)
    again = (carry_episode(pool, [lift], np.random.default_rng(seed), "carry") for seed in range(40))
    found = next(e for e in again if isinstance(e, Episode) and e.colliders[0].name.endswith("box"))
    assert found.subjects == ("cleo",)


def test_a_door_opens_as_far_as_the_recorded_hand_took_it(tmp_path: Path, pool: Pool) -> None:
    walks = Walks(pool)
    made = (open_episode(pool, walks, np.random.default_rng(seed), "open") for seed in range(60))
    episode = next(e for e in made if isinstance(e, Episode))
    leaf = episode.colliders[0]
    door = leaf.handles
    touched = np.flatnonzero(episode.touching[:, :2].max(1))
    poses = np.unwrap(2 * np.arctan2(leaf.poses[:, 6], leaf.poses[:, 3]))
    angle = np.abs(poses - poses[0])
    low, high = (leaf.cuboids.center - leaf.cuboids.half).min(0), (leaf.cuboids.center + leaf.cuboids.half).max(0)
    hinge = rotate(leaf.poses[0, 3:], np.array(door.hinge))[0]  # type: ignore[union-attr]
    turns_left = np.sign(poses[-1] - poses[0])
    told = {
        "kind": "door",
        "position": [0.0, 0.0, 0.0],
        "facing": [0.0, 1.0, 0.0],
        "size": [high[0] - low[0], 0.05, high[2]],
        "hinge": "left" if hinge > 0 else "right",
        "opens": "push" if (turns_left > 0) == (hinge > 0) else "pull",
        "from": touched[0] / FPS,
        "to": touched[-1] / FPS,
    }
    keep(tmp_path, clip_of(episode.track, "opens", "dora"), [told])
    (opening,) = captured_openings(capture_of(tmp_path, "opens"))
    during = slice(touched[0], touched[-1])
    np.testing.assert_allclose(opening.swing.angle[during], angle[during], atol=0.02)
    assert opening.mirrored().doorway.swing == -opening.doorway.swing
    again = (opened_as_recorded(pool, [opening], np.random.default_rng(seed), "open") for seed in range(40))
    found = next(e for e in again if isinstance(e, Episode))
    ((first, last),) = found.transitions
    assert found.subjects == ("dora",) and found.track.recorded[first + 40 : last].all()


def test_told_steps_take_the_place_of_fitted_ones(tmp_path: Path) -> None:
    climbed = flight().scaled(3.0)
    told = {"kind": "climbable", "position": [0.0, -3.0, 0.0], "facing": [0.0, -1.0, 0.0], "size": [1.2, 3.0, 0.31]}
    keep(tmp_path, clip_of(climbed.track, "climbs"), [told])
    found = captured_flight(capture_of(tmp_path, "climbs"))
    np.testing.assert_allclose(found.heights, [0.0, 0.31])
    treads = found.treads(0.3, (0.3, 0.3))
    np.testing.assert_allclose(2 * treads.half, [[1.2, 3.0, 0.31]])
    higher = found.scaled(2.0).mirrored()
    assert higher.steps is not None
    np.testing.assert_allclose(higher.steps.center[0], treads.center[0] * [-1.0, 1.0, 2.0])
    labels = labeled(tmp_path, "climbs")
    assert labels["scene"]["actions"]["climb"] == [[a, b - 1] for a, b in found.climbing]
    labels["contacts"]["LeftToe"] = labels["contacts"]["LeftToe"][:-1]
    correct(tmp_path, "climbs", labels)
    again = captured_flight(capture_of(tmp_path, "climbs"))
    assert len(again.stances) == len(found.stances) - 1
    told["size"] = [1.2, 3.0, 0.6]
    keep(tmp_path, clip_of(climbed.track, "climbs"), [told])
    with pytest.raises(FileFormatError, match="above or below all steps"):
        captured_flight(capture_of(tmp_path, "climbs"))


def test_corrected_labels_say_when_sitting_begins(tmp_path: Path, sitting: tuple[Track, Array]) -> None:
    clip = keep(tmp_path, clip_of(sitting[0], "sits", tags=("sit",)))
    document = labeled(tmp_path, "sits")
    scene = document["scene"]
    ((first, last),) = scene["touching"]["Hips"]
    assert abs(first - SEATED[0] * FPS) < 15 and abs(last - SEATED[1] * FPS) < 15
    (down, up) = scene["transitions"]
    assert down[1] == first and up[0] == last and scene["actions"]["sit"] == [[down[0], up[1]]]
    assert scene["goal_actions"]["sit"] == scene["actions"]["sit"] and len(scene["phase"]) == document["frames"]
    (before,) = captured_sits(capture_of(tmp_path, "sits"))
    assert before.down == tuple(down)
    scene["touching"]["Hips"] = [[first + 6, last]]
    scene["transitions"] = [[down[0] - 9, first + 6], up]
    correct(tmp_path, "sits", document)
    assert main(["data", "label", str(clip), "--read", str(marks_beside(clip))]) == 0
    (after,) = captured_sits(capture_of(tmp_path, "sits"))
    assert after.down == (down[0] - 9, first + 6) and after.up == before.up


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("transitions", [[40, 30]], "transitions"),
        ("touching", {"Hips": []}, "'touching' must have exactly LeftHand, RightHand, Hips"),
        ("actions", {"fly": []}, "'actions' must have exactly sit, open, carry, climb"),
    ],
)
def test_wrong_corrections_of_a_scene_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: Any, message: str
) -> None:
    clip = keep(tmp_path, clip_of(walk(1.0, 2.0), "walks"))
    document = labeled(tmp_path, "walks")
    document["scene"][key] = value
    correct(tmp_path, "walks", document)
    assert main(["data", "label", str(clip), "--read", str(marks_beside(clip))]) == 1
    assert message in capsys.readouterr().err


def test_objects_come_into_blenders_frame_with_their_clip(tmp_path: Path) -> None:
    """As told beside a file in centimeters, Y up, whose floor is 10 cm high."""
    solid = block((-0.2, -0.3, 0.0), (0.2, 0.1, 0.5)).mesh
    write_obj(TriangleMesh(100 * up_z_to_y(solid.vertices), solid.triangles), tmp_path / "crate.obj")
    told = [
        {"kind": "seat", "position": [100, 55, -200], "facing": [0, 0, -1], "size": [40, 45, 50]},
        {"kind": "box", "mesh": "crate.obj", "origin": [0, 10, -300], "turn": 90, "from": 1, "to": 2},
    ]
    source = tmp_path / "take.objects.json"
    source.write_text(json.dumps(told))
    clip = tmp_path / "clips" / "take.npz"
    clip.parent.mkdir()
    write_props(imported_props(source, Frame("y", 0.01, 0.1)), clip)
    seat, box = read_props(objects_beside(clip))
    np.testing.assert_allclose(seat.place, [1.0, 2.0, 0.45])
    assert seat.facing == pytest.approx(np.pi) and seat.size is not None
    np.testing.assert_allclose(seat.size, [0.4, 0.45, 0.5])
    # A quarter turn counter-clockwise, and three meters further along +Y.
    np.testing.assert_allclose(box.place, [0.1, 3.0, 0.0], atol=1e-6)
    solid_again: Cuboids = box.solid(0.0)
    np.testing.assert_allclose(2 * solid_again.half.sum(0)[[2]], [0.5], atol=0.03)


def test_objects_beside_a_recording_are_imported_with_it(tmp_path: Path) -> None:
    keep(tmp_path / "old", clip_of(walk(1.0, 2.0), "walks"), [a_seat(np.array([1.0, 0.0, 0.4]))])
    clip = tmp_path / "old" / CLIPS_FOLDER / "walks.npz"
    assert main(["data", "import", str(clip), "--out", str(tmp_path / "new")]) == 0
    (prop,) = read_props(objects_beside(tmp_path / "new" / CLIPS_FOLDER / "walks.npz"))
    np.testing.assert_allclose(prop.place, [1.0, 0.0, 0.4])
    bad = objects_beside(clip)
    bad.write_text('[{"kind": "seat"}]')
    before = load_clip(tmp_path / "new" / CLIPS_FOLDER / "walks.npz").meta
    assert main(["data", "import", str(clip), "--out", str(tmp_path / "third")]) == 1
    assert not (tmp_path / "third").exists() and before["name"] == "walks"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "sofa"}, "kind is 'sofa', one of seat, box, door, climbable is needed"),
        ({"kind": "seat"}, "the seat needs a 'position' or a 'mesh'"),
        ({"kind": "seat", "position": [0, 1]}, "position has 2 entries, 3 are needed"),
        ({"kind": "seat", "position": [0, 0, 0.4], "color": "red"}, "color means nothing here"),
        ({"kind": "box", "position": [0, 0, 0], "size": [1, 1, 1]}, "taken ('from') or left ('to')"),
        ({"kind": "box", "position": [0, 0, 0], "from": 1}, "the box needs a 'size' or a 'mesh'"),
        ({"kind": "climbable", "position": [0, 0, 0], "size": [1, 0, 1]}, "size must be above zero"),
        ({"kind": "door", "position": [0, 0, 0], "size": [1, 1, 2]}, "a door needs 'facing', 'from' and 'to'"),
        (
            {"kind": "box", "position": [0, 0, 0], "size": [1, 1, 1], "from": "soon"},
            "from is 'soon', a number is needed",
        ),
        ({"kind": "box", "mesh": "../box.obj", "from": 1}, "a file beside this one"),
        ({"kind": "box", "mesh": "none.obj", "from": 1}, "none.obj"),
        ({"kind": "seat", "position": [0, 0, 0.4], "from": 3, "to": 2}, "from must be before 'to'"),
    ],
)
def test_what_is_told_wrong_is_named(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    path = tmp_path / "take.objects.json"
    path.write_text(json.dumps([entry]))
    with pytest.raises(FileFormatError) as raised:
        read_props(path)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_faces_of_many_corners_and_counted_from_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "square.obj"
    path.write_text("# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\nf -4 -3 -2\n")
    mesh = read_obj(path)
    assert mesh.vertices.shape == (4, 3) and mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]
    path.write_text("v 0 0 0\nv 1 0 0\nf 1 2 3\n")
    with pytest.raises(FileFormatError, match="line 3"):
        read_obj(path)
    path.write_text("v 0 0 0\n")
    with pytest.raises(FileFormatError, match="no faces"):
        read_obj(path)


def test_approaches_are_of_performers_that_are_not_held_out(tmp_path: Path) -> None:
    for name, subject, tags in (("a", "anna", ("locomotion",)), ("b", "test", ("locomotion",)), ("c", "anna", ())):
        keep(tmp_path, clip_of(walk(1.0, 2.0), name, subject, tags))
    assert len(recorded_tracks(tmp_path, mirrored=(False,))) == 2
    assert len(recorded_tracks(tmp_path, mirrored=(False,), left_out=frozenset({"test"}))) == 1
