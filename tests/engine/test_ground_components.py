# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of components over ground: what figures lose where a part of bakes is left out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from nsm_blender.baking.bake import GROUND_PARTS, Bake
from nsm_blender.cli import main
from nsm_blender.evaluation import ground_components
from nsm_blender.evaluation.ground_components import COURSES, course_names, ground_component_figures, outcomes
from nsm_blender.evaluation.pfnn import COMPONENTS, TABLES
from nsm_blender.paths import weights_folder
from nsm_blender.shot.shot import PathFollow, Shot

WEIGHTS = weights_folder() / "pfnn.safetensors"


def test_a_course_is_measured_with_everything_and_without_each_part() -> None:
    found = outcomes(WEIGHTS, ("root_glide", "tread_pacing"), "stairs 0")
    assert set(found) == {"", "root_glide", "tread_pacing"}
    # Without it the root jumps from tread to tread.
    assert found["root_glide"]["hips_acceleration_p99"] > 2 * found[""]["hips_acceleration_p99"]
    assert found["tread_pacing"] != found[""]


def test_there_are_courses_of_every_kind_and_one_of_each_is_quick() -> None:
    kinds = Counter(name.split()[0] for name in course_names())
    assert kinds == {kind: count for kind, (_, _, count) in COURSES.items()}
    assert [name.split()[0] for name in course_names(quick=True)] == [*COURSES]


def test_parts_have_names_of_their_own_and_others_are_refused() -> None:
    assert len(set(GROUND_PARTS)) == len(GROUND_PARTS) > 4
    path = PathFollow([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [1.0] * 60, ["walk"] * 60, [0.0] * 60)
    with pytest.raises(ValueError, match=r"parts.*wings.*root_glide"):
        Bake(Shot("level", 30.0, 60, path=path), without={"wings"})


def test_the_command_line_measures_the_table_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert COMPONENTS not in TABLES
    out = tmp_path / "figures.json"
    monkeypatch.setattr(ground_components, "course_names", lambda quick=False: ["drop 0", "drop 1"])
    asked = ["--tables", COMPONENTS, "--components", "root_glide", "--processes", "1", "--json", str(out)]
    assert main(["evaluate", "pfnn", *asked]) == 0
    figures = json.loads(out.read_text())
    assert figures["pfnn.components.tasks"] == 2
    assert {"pfnn.components.root_glide.done", "pfnn.components.root_glide.worth"} <= figures.keys()


def test_a_component_that_there_is_not_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "pfnn", "--tables", COMPONENTS, "--components", "wings"]) != 0
    assert "wings" in (told := capsys.readouterr().err) and "root_glide" in told


def test_no_part_left_out_tells_the_number_of_courses_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_components, "course_names", lambda quick=False: ["drop 0"])
    assert ground_component_figures(WEIGHTS, print, parts=(), processes=1) == {"pfnn.components.tasks": 1.0}
