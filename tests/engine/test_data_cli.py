# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender data import | inspect | label`, as a user calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.commands.importing import import_folder
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import load_clip, load_library, save_clip, up_z_to_y
from nsm_blender.motion.rotations import from_axis_angle
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.training.episodes.props import objects_beside, read_props


@pytest.fixture
def standing(tmp_path):
    """A second of the T-pose in a BVH file at 30 fps, centimeters, Y up."""

    def emit(joint):
        yield f"{'JOINT' if joint else 'ROOT'} {MODEL_SKELETON.names[joint]}\n{{"
        yield "OFFSET {:.4f} {:.4f} {:.4f}".format(*(100 * up_z_to_y(MODEL_SKELETON.offsets[joint])))
        positions = "" if joint else "Xposition Yposition Zposition "
        yield f"CHANNELS {3 if joint else 6} {positions}Zrotation Xrotation Yrotation"
        for child in MODEL_SKELETON.children(joint):
            yield from emit(child)
        if not MODEL_SKELETON.children(joint):
            yield "End Site\n{\nOFFSET 0 0 0\n}"
        yield "}"

    rows = [" ".join(["0"] * (3 + 3 * 22))] * 31
    path = tmp_path / "stand.bvh"
    path.write_text("\n".join(["HIERARCHY", *emit(0), "MOTION", "Frames: 31", "Frame Time: 0.0333333", *rows]) + "\n")
    return path


def clip_file(path, change=lambda root, turns: None, count=60):
    """A standing figure, changed, as a clip file."""
    root = np.tile([0.0, 0.0, HIPS_HEIGHT], (count, 1))
    turns = np.zeros((count, 22, 4))
    turns[..., 0] = 1
    change(root, turns)
    save_clip(Clip(MODEL_SKELETON, root, turns, 60.0, {"name": path.stem}), path)
    return path


def inspect(capsys, path):
    assert main(["data", "inspect", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_import_writes_a_library_at_the_wanted_rate(standing, tmp_path, capsys):
    out = tmp_path / "library"
    arguments = ["--out", str(out), "--subject", "anna", "--tags", "idle", "calm"]
    assert main(["data", "import", str(standing), *arguments]) == 0
    assert "31 frames at 30 fps" in capsys.readouterr().out
    [entry] = load_library(out)
    assert (entry.name, entry.frames, entry.fps) == ("stand", 61, 60.0)
    assert (entry.subject, entry.tags) == ("anna", ("idle", "calm"))
    clip = load_clip(entry.path)
    toes = clip.world()[0][:, MODEL_SKELETON.indices(("LeftToe", "RightToe"))]
    np.testing.assert_allclose(toes[..., 2], TOE_HEIGHT, atol=1e-4)
    np.testing.assert_allclose(clip.skeleton.offsets, MODEL_SKELETON.offsets, atol=1e-4)


def test_a_bad_file_among_good_ones_leaves_the_library_as_it_was(standing, tmp_path, capsys):
    bad = tmp_path / "bad.bvh"
    bad.write_text(standing.read_text().replace("Frames: 31", "Frames: 40"))
    out = tmp_path / "library"
    assert main(["data", "import", str(standing), "--out", str(out)]) == 0
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    second = tmp_path / "second.bvh"
    second.write_text(standing.read_text())
    assert main(["data", "import", str(second), str(bad), "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert "bad.bvh, line " in error and error.count("\n") == 1
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", ["missing.bvh", "notes.txt"])
def test_what_is_no_motion_is_named(name, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("hello")
    assert main(["data", "import", str(tmp_path / name), "--out", str(tmp_path / "library")]) == 1
    assert name in capsys.readouterr().err
    assert not (tmp_path / "library").exists()


def test_a_rate_that_makes_more_frames_than_memory_is_refused(standing, tmp_path, capsys):
    assert main(["data", "import", str(standing), "--out", str(tmp_path / "library"), "--fps", "1e9"]) == 1
    assert "at this rate it has" in capsys.readouterr().err
    assert not (tmp_path / "library").exists()


def test_a_name_that_no_file_can_have_is_told(standing, tmp_path, capsys):
    long = "x" * 300
    assert main(["data", "inspect", long + ".bvh"]) == 1
    assert "there is no such file" in capsys.readouterr().err
    assert main(["data", "import", str(standing), "--out", str(tmp_path / long)]) == 1
    assert "cannot be written into (File name too long)" in capsys.readouterr().err


def test_two_imports_at_once_lose_no_clip(standing, tmp_path):
    library = tmp_path / "library"
    names = [f"take{number}" for number in range(6)]
    for name in names:
        shutil.copy(standing, tmp_path / f"{name}.bvh")
    command = [sys.executable, "-m", "nsm_blender", "data", "import", "--out", str(library)]
    running = [subprocess.Popen([*command, str(tmp_path / f"{name}.bvh")]) for name in names]
    assert [process.wait() for process in running] == [0] * len(names)
    assert sorted(entry.name for entry in load_library(library)) == names


@pytest.mark.parametrize("command", ["import", "label"])
def test_a_place_that_cannot_be_written_is_told_before_the_file_is_read(command, tmp_path, capsys):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    out = {"import": tmp_path / "mine", "label": tmp_path / "link"}[command]
    assert main(["data", command, str(tmp_path / "none.bvh"), "--out", str(out)]) == 1
    assert f"{out}: is " in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_the_scale_can_be_told(standing, tmp_path):
    assert main(["data", "import", str(standing), "--out", str(tmp_path / "a"), "--scale", "0.02"]) == 0
    clip = load_clip(load_library(tmp_path / "a")[0].path)
    np.testing.assert_allclose(clip.skeleton.offsets, 2 * MODEL_SKELETON.offsets, atol=1e-4)


def test_inspect_tells_length_gait_and_speed_of_a_standing_figure(tmp_path, capsys):
    found = inspect(capsys, clip_file(tmp_path / "still.npz"))
    assert (found["name"], found["frames"], found["fps"], found["seconds"]) == ("still", 60, 60, 1.0)
    assert found["gait_seconds"]["stand"] == 1.0
    assert found["speed_m_per_s"]["p95"] == 0
    assert found["doubtful"] == []


def slide(root, turns):
    root[:, 1] = -0.005 * np.arange(len(root))


def sink(root, turns):
    root[20:40, 2] -= 0.1


def jump(root, turns):
    root[30:, 0] += 1.5


def bend_knee_backward(root, turns):
    turns[20:40, MODEL_SKELETON.index("LeftLeg")] = from_axis_angle(np.array([1.0, 0, 0]), np.asarray(-0.5))


@pytest.mark.parametrize(
    ("change", "reason", "frame"),
    [
        (slide, "slides", 30),
        (sink, "under the floor", 30),
        (jump, "jumps", 30),
        (bend_knee_backward, "knee bends backward", 30),
    ],
)
def test_doubtful_frames_are_found_and_explained(change, reason, frame, tmp_path, capsys):
    found = inspect(capsys, clip_file(tmp_path / "odd.npz", change))
    assert any(reason in d["reason"] and d["start"] <= frame <= d["stop"] for d in found["doubtful"])


def test_inspect_of_a_folder_reports_each_clip(standing, tmp_path, capsys):
    clip_file(tmp_path / "still.npz")
    assert [r["name"] for r in inspect(capsys, tmp_path)] == ["stand", "still"]
    assert main(["data", "inspect", str(tmp_path)]) == 0
    assert "total" in capsys.readouterr().out


def test_inspect_of_an_empty_folder_says_so(tmp_path, capsys):
    assert main(["data", "inspect", str(tmp_path)]) == 1
    assert "holds no motion" in capsys.readouterr().err


def test_a_very_short_clip_can_be_inspected(tmp_path, capsys):
    assert inspect(capsys, clip_file(tmp_path / "one.npz", count=1))["frames"] == 1


def test_labels_can_be_written_corrected_and_read(tmp_path, capsys):
    clip, labels = clip_file(tmp_path / "still.npz"), tmp_path / "labels.json"
    assert main(["data", "label", str(clip), "--out", str(labels)]) == 0
    document = json.loads(labels.read_text())
    assert document["contacts"]["LeftToe"] == [[0, 59]] and document["gaits"] == [[0, 59, "stand"]]
    document["contacts"]["LeftToe"] = [[0, 20], [30, 59]]
    document["gaits"] = [[0, 29, "stand"], [30, 59, "walk"]]
    labels.write_text(json.dumps(document))
    assert main(["data", "label", str(clip), "--read", str(labels)]) == 0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("frames", 59, "labels of 59 frames, but the clip has 60"),
        ("gaits", [[0, 59, "fly"]], "'fly' is not a gait"),
        ("gaits", [[0, 40, "walk"]], "frame 41 has no gait"),
        ("gaits", [[0, 40, "walk"], [30, 59, "walk"]], "[30, 59"),
        ("gaits", [[0, 60, "walk"]], "[0, 60"),
        ("phase", [0.0] * 59, "'phase' must be a list of 60"),
        ("phase", [1.0] + [0.0] * 59, "runs backward after frame 0"),
        ("contacts", {"LeftToe": []}, "'contacts' must have exactly"),
        ("format", 99, "not a label file"),
    ],
)
def test_wrong_corrections_are_refused_with_what_is_wrong(key, value, message, tmp_path, capsys):
    clip, labels = clip_file(tmp_path / "still.npz"), tmp_path / "labels.json"
    assert main(["data", "label", str(clip), "--out", str(labels)]) == 0
    document = json.loads(labels.read_text()) | {key: value}
    labels.write_text(json.dumps(document))
    assert main(["data", "label", str(clip), "--read", str(labels)]) == 1
    error = capsys.readouterr().err
    assert message in error and "labels.json" in error


def test_labels_that_are_no_json_are_refused_with_the_line(tmp_path, capsys):
    clip, labels = clip_file(tmp_path / "still.npz"), tmp_path / "labels.json"
    labels.write_text('{\n "format": 1,\n oops\n}')
    assert main(["data", "label", str(clip), "--read", str(labels)]) == 1
    assert "labels.json, line 3" in capsys.readouterr().err


def test_a_folder_of_recordings_becomes_a_library_by_performers(standing, tmp_path):
    """In centimeters and Y up, as the recording; what has no object told beside it is locomotion."""
    folder = tmp_path / "recordings"
    for subject, name in (("anna", "stands"), ("ben", "sits")):
        (folder / subject).mkdir(parents=True)
        (folder / subject / f"{name}.bvh").write_text(standing.read_text())
    seat = {"kind": "seat", "position": [0, 45, -30], "facing": [0, 0, 1]}
    (folder / "ben" / "sits.objects.json").write_text(json.dumps([seat]))
    import_folder(folder, tmp_path / "library")
    found = {entry.name: entry for entry in load_library(tmp_path / "library")}
    assert {name: (entry.subject, entry.tags) for name, entry in found.items()} == {
        "stands": ("anna", ("locomotion",)),
        "sits": ("ben", ()),
    }
    (prop,) = read_props(objects_beside(found["sits"].path))
    # The T-pose of the recording has its hips at 0, so that the floor is a leg's length and a foot below.
    floor = load_clip(found["sits"].path).meta["import"]["floor"]
    np.testing.assert_allclose(prop.place, [0.0, 0.3, 0.45 - floor], atol=1e-4)
    assert floor < -0.9 and prop.facing == pytest.approx(0.0)
