# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python API is complete and typed, its page's examples run, and what it gives is what the command line gives."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nsm_blender
from nsm_blender import (
    ActionKey,
    EditError,
    Goal,
    Motion,
    PathFollow,
    Shot,
    ShotError,
    StyleSettings,
    SynthesisOptions,
    UserError,
    WeightsError,
    bake,
    begin_bake,
    begin_edit,
    box_mesh,
    bundled_style,
    collider_of,
    edit,
    evaluate,
    export_clip,
    find_problems,
    import_motion,
    supported_actions,
    synthesize,
)
from nsm_blender.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python_api.md").read_text(encoding="utf-8")
EXAMPLES = {
    f"{heading} {number}": code
    for heading, text in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL), start=1)
}


def walk(frames: int = 24) -> Shot:
    path = PathFollow([[0.0, 0.0, 0.0], [0.0, -4.0, 0.0]], [1.2] * frames, ["walk"] * frames, [0.0] * frames)
    return Shot(name="Walker", fps=24.0, frames=frames, path=path)


def errand() -> Shot:
    keys, goals = [ActionKey("walk", "there")], [Goal("there", [0.0, -1.0, 0.0])]
    return Shot(name="Walker", fps=24.0, frames=36, start=[0.0] * 4, keys=keys, goals=goals)


def assert_same(a: Motion, b: Motion) -> None:
    for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.meta == b.meta


def test_all_python_on_the_page_is_an_example() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") > 5


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_page_run_as_they_are(name: str, tmp_path: Path) -> None:
    """As a person would run one: pasted into a file, in an empty folder."""
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[name], encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_type_checkers_see_exactly_the_public_names() -> None:
    tree = ast.parse(Path(nsm_blender.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(typed) == set(nsm_blender.__all__)
    for name, room in typed.items():
        defined = getattr(importlib.import_module(f"nsm_blender.{room}"), name)
        assert getattr(nsm_blender, name) is defined, name


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="dance"):
        _ = nsm_blender.dance


def test_every_public_class_and_function_has_a_docstring() -> None:
    public = {name: getattr(nsm_blender, name) for name in nsm_blender.__all__}
    documented = {name: thing for name, thing in public.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    assert len(documented) > 60
    assert not [name for name, thing in documented.items() if not (thing.__doc__ or "").strip()]


@pytest.mark.parametrize("model", ["auto", "pfnn", "nsm", "manifold"])
def test_a_motion_is_the_same_by_the_api_and_by_the_command_line(model: str, tmp_path: Path) -> None:
    shot = errand() if model == "nsm" else walk()
    shot.save(tmp_path / "shot.json")
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "m.npz"), "--model", model]) == 0
    made = synthesize(shot) if model == "manifold" else bake(shot, model)
    assert_same(made, Motion.load(tmp_path / "m.npz"))


def test_figures_have_the_same_names_and_values_by_the_api_and_by_the_command_line(tmp_path: Path) -> None:
    asked = ["--kinds", "idle", "--count", "1", "--processes", "1", "--json", str(tmp_path / "f.json")]
    assert main(["evaluate", "naturalness", *asked]) == 0
    told = json.loads((tmp_path / "f.json").read_text())
    assert told.pop("meta")["count"] == 1
    # Sums of the BLAS differ in their last bits with the alignment of the arrays in memory.
    assert evaluate("naturalness", ["idle"], count=1, processes=1) == pytest.approx(told, rel=1e-9)


def test_a_crowd_whose_walkers_do_not_meet_walks_as_each_alone() -> None:
    first = walk()
    assert first.path is not None
    aside = replace(first, path=replace(first.path, points=[[x + 5, y + 5, z] for x, y, z in first.path.points]))
    shots, phase = [first, aside], SynthesisOptions(phase=1.0)
    invisible = 0.001  # meters: products of larger arrays round in another order
    one, second = synthesize(shots, [SynthesisOptions(), phase])
    np.testing.assert_allclose(one.positions, synthesize(shots[0]).positions, atol=invisible)
    np.testing.assert_allclose(second.positions, synthesize(shots[1], phase).positions, atol=invisible)


def test_steps_give_the_motion_that_the_whole_gives() -> None:
    work = begin_bake(errand(), "nsm")
    while not work.done:
        work.step()
    assert_same(work.motion(), bake(errand(), "nsm"))


def test_progress_is_told_to_the_end_and_can_stop_the_work() -> None:
    shares: list[float] = []
    bake(walk(), progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0

    class Stopped(Exception):
        pass

    def stop(_: float) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        synthesize(walk(), progress=stop)


def test_a_style_is_taken_at_its_tempo_as_the_panel_does() -> None:
    motion, settings = synthesize(walk(48)), StyleSettings(timing=1.0)
    style = bundled_style("old")
    at_tempo = nsm_blender.retimed(motion, style.tempo, settings.timing)
    by_hand = begin_edit(at_tempo, (), style, settings=settings, given=motion).motion()
    styled = edit(motion, style="old", settings=settings)
    assert len(styled) == len(at_tempo) != len(motion)
    np.testing.assert_array_equal(styled.positions, by_hand.positions)


def test_an_exported_clip_is_imported_as_the_same_motion(tmp_path: Path) -> None:
    motion = synthesize(walk())
    export_clip(motion, tmp_path / "clip.npz", "Stroll")
    again = import_motion(tmp_path / "clip.npz")
    assert again.fps == motion.fps and again.meta["name"] == "clip"
    assert np.abs(again.positions - motion.positions).max() < 0.02, "meters"


def test_a_colliders_role_is_guessed_and_its_handles_are_proposed() -> None:
    stool = collider_of(box_mesh((-0.2, -0.2, 0.0), (0.2, 0.2, 0.45)), "Stool", "seat")
    assert stool.role == "seat" and isinstance(stool.handles, nsm_blender.Seat)
    assert stool.handles.place[2] == pytest.approx(0.45, abs=0.01)
    wall = collider_of(box_mesh((-3.0, -0.1, 0.0), (3.0, 0.1, 2.5)), "Wall")
    assert (wall.role, wall.handles) == ("obstacle", None)


def test_problems_are_those_of_the_chosen_network() -> None:
    shot = errand()
    shot.keys.append(ActionKey("climb", "there"))
    assert "climb" in supported_actions("auto") and "climb" not in supported_actions("pfnn")
    for model in ("auto", "pfnn"):
        told = [problem.text for problem in find_problems(shot, model) if problem.key == 1 and problem.fatal]
        assert any("beyond" in text for text in told) == (model == "pfnn")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda: bake(Shot("Empty", 24.0, 48)), ShotError),
        (lambda: bake(walk(), weights="none.safetensors"), WeightsError),
        (lambda: bake(walk(), "pfnn", weights="none.safetensors"), WeightsError),
        (lambda: synthesize(errand()), ShotError),
        (lambda: synthesize([]), ShotError),
        (lambda: edit(synthesize(walk()), style="martian"), EditError),
        (lambda: edit(synthesize(walk()), strength=-1.0), EditError),
        (lambda: import_motion("none.bvh"), UserError),
        (lambda: evaluate("nsm", ["dancing"]), UserError),
        (lambda: evaluate("pfnn", ["success"]), UserError),
        (lambda: evaluate("proposals", weights="w"), UserError),
        (lambda: evaluate("pfnn", ablations="folder"), UserError),
        (lambda: evaluate("naturalness", count=0), UserError),
        (lambda: evaluate("astrology"), UserError),
    ],
)
def test_a_users_mistake_is_one_sentence(wrong, kind) -> None:
    with pytest.raises(kind) as told:
        wrong()
    assert len(str(told.value).splitlines()) == 1
