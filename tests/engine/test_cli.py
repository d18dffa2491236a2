# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line keeps its promises: exit codes, one-line errors, nothing written after a mistake."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nsm_blender import __version__
from nsm_blender.cli import COMMANDS, main
from nsm_blender.motion.motion import Motion
from nsm_blender.shot.shot import PathFollow, Shot


def walk(frames: int = 48) -> Shot:
    """Two seconds of walking along a straight line, at 24 fps."""
    path = PathFollow(
        points=[[0.0, 0.0, 0.0], [0.0, -5.0, 0.0]],
        speeds=[1.2] * frames,
        gaits=["walk"] * frames,
        facing_offsets=[0.0] * frames,
    )
    return Shot(name="Walker", fps=24.0, frames=frames, path=path)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"nsm-blender {command}" in capsys.readouterr().out


OWN_OPTIONS = {
    "nsm": {
        "--weights",
        "--card",
        "--tables",
        "--cases",
        "--components",
        "--processes",
        "--ablations",
        "--cluster",
        "--picture",
    },
    "pfnn": {"--weights", "--card", "--tables", "--components", "--recordings", "--processes"},
    "manifold": {"--weights", "--card", "--data", "--test-subjects", "--compare", "--filters"},
    "errands": set(),
    "rigs": {"--sheets", "--rig", "--bodies"},
    "proposals": set(),
    "naturalness": {
        "--kinds",
        "--count",
        "--unseen",
        "--shots",
        "--motions",
        "--plain",
        "--sheets",
        "--recordings",
        "--processes",
    },
}


@pytest.mark.parametrize("system", OWN_OPTIONS)
def test_each_evaluation_explains_its_own_options_and_no_others(
    system: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", system, "--help"])
    assert stopped.value.code == 0
    told = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert told == OWN_OPTIONS[system] | {"--help", "--json"}


@pytest.mark.parametrize("arguments", [["errands", "--weights", "w"], ["manifold", "--tables", "success"], ["dance"]])
def test_an_evaluation_refuses_what_belongs_to_another(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *arguments])
    assert stopped.value.code == 2
    assert "usage: nsm-blender" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.split() == ["nsm-blender", __version__]


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["bake"], ["bake", "shot.json", "--out", "m.npz", "--model", "x"]]
)
def test_wrong_arguments_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: nsm-blender" in capsys.readouterr().err


def test_bake_writes_a_motion_with_the_shots_frames(tmp_path: Path) -> None:
    shot = walk()
    shot.save(tmp_path / "shot.json")
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "motion.npz")]) == 0
    motion = Motion.load(tmp_path / "motion.npz")
    assert len(motion) == shot.frames
    assert motion.fps == shot.fps
    assert motion.root[-1, 1] < motion.root[0, 1] - 1.0, "the character walked along the path"


def assert_one_line(error: str, *words: str) -> None:
    """What a user sees after a mistake: one line, the program's name first, with these words in it."""
    assert error.startswith("nsm-blender: ")
    assert error.count("\n") == 1
    for word in words:
        assert word in error


def test_a_model_that_cannot_bake_the_shot_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk().save(tmp_path / "shot.json")
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "m.npz"), "--model", "nsm"]) == 1
    assert_one_line(capsys.readouterr().err, "action keys")
    assert not (tmp_path / "m.npz").exists()


def test_a_missing_shot_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bake", str(tmp_path / "none.json"), "--out", str(tmp_path / "m.npz")]) == 1
    assert_one_line(capsys.readouterr().err, "none.json")
    assert not (tmp_path / "m.npz").exists()


def test_a_damaged_shot_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shot.json").write_text('{\n "name": "Walker",\n "fps": twelve\n}')
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "m.npz")]) == 1
    assert_one_line(capsys.readouterr().err, "shot.json", "line 3")
    assert list(tmp_path.iterdir()) == [tmp_path / "shot.json"]


@pytest.mark.parametrize("out", ["no/such/folder/m.npz", "motion.fbx"])
def test_an_impossible_destination_is_refused_before_baking(
    out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk().save(tmp_path / "shot.json")
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / out)]) == 1
    assert_one_line(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == [tmp_path / "shot.json"]


def test_a_folder_with_a_motion_files_name_is_no_folder_of_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk().save(tmp_path / "shot.json")
    (tmp_path / "motion.npz").mkdir()
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "motion.npz")]) == 1
    assert_one_line(capsys.readouterr().err, "motion.npz is a folder")
    assert list((tmp_path / "motion.npz").iterdir()) == []


def run_without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`nsm-blender ARGUMENTS` in a Python that cannot import `module`."""
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        f"from nsm_blender.cli import main\nsys.exit(main({list(arguments)!r}))"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_a_bake_needs_neither_torch_nor_blender(tmp_path: Path) -> None:
    walk().save(tmp_path / "shot.json")
    for module in ("torch", "bpy", "scipy", "safetensors"):
        out = tmp_path / f"without_{module}.npz"
        done = run_without(module, "bake", str(tmp_path / "shot.json"), "--out", str(out))
        assert done.returncode == 0, done.stderr
        assert out.exists()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the train extra is not installed")
def test_training_without_torch_says_what_to_install(tmp_path: Path) -> None:
    done = run_without("torch", "train", "pfnn", "--data", str(tmp_path), "--out", str(tmp_path / "w.safetensors"))
    assert done.returncode == 1
    assert_one_line(done.stderr, "torch", "nsm-blender[train]")
