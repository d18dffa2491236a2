# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of components: what figures lose where a part of the rollout is left out."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nsm_blender import evaluate
from nsm_blender.cli import main
from nsm_blender.errors import UserError
from nsm_blender.evaluation.components import Row, component_figures, rows
from nsm_blender.evaluation.nsm import COMPONENTS, TABLES
from nsm_blender.evaluation.nsm_components import ROOM_KINDS, component_names, outcomes, rocking, task_names, task_of
from nsm_blender.rollout.nsm_network import load

from .synthetic import stand
from .test_metrics import motion_of

INF = math.inf


def row(found: list[dict[str, dict[str, float]]], figure: str, component: str = "part") -> Row:
    (out,) = [one for one in rows(found) if (one.component, one.figure) == (component, figure)]
    return out


def tasks(full: list[float], without: list[float], figure: str = "cm") -> list[dict[str, dict[str, float]]]:
    return [{"": {figure: a}, "part": {figure: b}} for a, b in zip(full, without, strict=True)]


def test_a_row_is_the_mean_with_and_without_and_the_standard_error_of_the_pairs() -> None:
    """The tasks differ by far more than what the part does to each."""
    found = row(tasks([1.0, 20.0, 300.0], [2.0, 22.0, 303.0]), "cm")
    assert (found.count, found.full, found.without) == (3, 107.0, 109.0)
    assert found.error == pytest.approx(1.0 / math.sqrt(3))
    assert found.loss == pytest.approx(2.0 * math.sqrt(3))


@pytest.mark.parametrize(("full", "without"), [(INF, 3.0), (3.0, INF), (INF, INF), (math.nan, 3.0)])
def test_a_task_without_a_finite_figure_both_ways_does_not_count_for_it(full: float, without: float) -> None:
    found = row(tasks([1.0, 20.0, full], [2.0, 22.0, without]), "cm")
    assert (found.count, found.full, found.without) == (2, 10.5, 12.0)
    assert found.error == pytest.approx(0.5)


def test_a_figure_that_a_task_has_one_way_only_does_not_count_for_it() -> None:
    found = tasks([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    del found[2]["part"]["cm"]
    assert row(found, "cm").count == 2


def test_tasks_that_are_refused_are_left_out() -> None:
    both = tasks([1.0, 2.0], [2.0, 4.0])
    assert rows([{}, *both, {}]) == rows(both)
    assert component_figures("nsm", [{}, *both], print)["nsm.components.tasks"] == 2


def test_one_task_alone_tells_nothing() -> None:
    assert rows(tasks([1.0], [2.0])) == []
    assert rows([]) == rows([{}]) == []


def test_each_component_is_compared_with_the_same_tasks_in_full() -> None:
    found = tasks([1.0, 2.0, 6.0], [2.0, 4.0, 6.0])
    for one, value in zip(found, (0.0, 1.0), strict=False):
        one["other"] = {"cm": value}
    assert (row(found, "cm").count, row(found, "cm").full) == (3, 3.0)
    assert (row(found, "cm", "other").count, row(found, "cm", "other").full) == (2, 1.5)


def test_a_loss_is_a_rise_of_what_is_to_be_low_and_a_fall_of_what_is_to_be_high() -> None:
    worse, better = [1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]
    assert row(tasks(worse, better, "done"), "done").loss > 0 > row(tasks(better, worse, "done"), "done").loss
    assert row(tasks(worse, better), "cm").loss < 0 < row(tasks(better, worse), "cm").loss


def test_a_part_without_which_every_task_loses_as_much_is_worth_it_and_one_that_changes_nothing_is_not() -> None:
    assert row(tasks([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], "done"), "done").loss == INF
    assert row(tasks([0.0, 0.0], [1.0, 1.0], "done"), "done").loss == -INF
    assert row(tasks([1.0, 2.0], [1.0, 2.0]), "cm").loss == 0


def test_the_table_says_which_parts_are_worth_it() -> None:
    found = [
        {"": {"cm": 1.0 + n}, "good": {"cm": 3.0 + n + 0.1 * (n % 2)}, "idle": {"cm": 1.0 + n + 0.1 * (-1) ** n}}
        for n in range(6)
    ]
    told: list[str] = []
    figures = component_figures("nsm", found, told.append)
    assert figures["nsm.components.good.worth"] == 1 and figures["nsm.components.idle.worth"] == 0
    assert figures["nsm.components.good.cm"] == pytest.approx(2.05)
    assert "good: worth it" in told and "idle: NOT WORTH IT" in told


def test_the_tasks_are_as_many_as_asked_for_and_the_rooms_of_all_kinds_alike() -> None:
    names = task_names(3, 2, 2 * len(ROOM_KINDS) + 1)
    assert len(names) == len(set(names)) == 3 + 2 + 2 * len(ROOM_KINDS) + 1
    groups = Counter(name.split()[0] for name in names)
    assert groups["sit"] == 3 and groups["carry"] == 2
    assert {groups[kind] for kind in ROOM_KINDS} == {2, 3}
    assert task_names(0, 0, 0) == []


def test_a_longer_table_begins_with_the_tasks_of_a_shorter_one() -> None:
    assert set(task_names(2, 1, 7)) < set(task_names(4, 2, 14))


@pytest.mark.parametrize("name", task_names(1, 1, len(ROOM_KINDS)))
def test_a_name_always_gives_the_same_task(name: str) -> None:
    network = load(None)
    once, again = task_of(name, network), task_of(name, network)
    assert (once is None) == (again is None)
    if once is not None and again is not None:
        assert once.shot.keys == again.shot.keys and once.shot.start == again.shot.start
        assert {*once.used} <= {collider.name for collider in once.shot.colliders}


def test_a_task_has_the_same_figures_with_and_without_a_part() -> None:
    found = outcomes(load(None), "sit 0", ("root_limits",))
    assert set(found) == {"", "root_limits"}
    assert {"done", "raw_cm", "seconds", "depth_p99_cm", "foot_slide_cm_s"} <= found[""].keys()
    assert found[""] != found["root_limits"]


@pytest.mark.parametrize(("frequency", "expected"), [(1.0, 0.06), (0.1, 0.0), (4.0, 0.0)])
def test_rocking_is_how_far_the_head_comes_and_goes_about_once_a_second(frequency: float, expected: float) -> None:
    way = 0.03 * np.sin(2 * np.pi * frequency * np.arange(600) / 60)
    moved = motion_of(stand(10.0))
    moved.positions[:, moved.names.index("Head"), 1] += way
    assert rocking(moved, 0, 600) == pytest.approx(expected, abs=0.006)
    assert rocking(moved, 0, 200) is None


def test_most_characters_do_not_rock_in_their_seats() -> None:
    """Sway, which is irregular, is left out: within seconds it is not told from rocking."""
    found = [outcomes(load(None), f"sit {n}", ("postural_sway",))["postural_sway"] for n in (1, 5, 7, 13)]
    assert sum(one["rocking_cm"] < 2 for one in found) >= 3


def test_a_character_that_waits_stands_as_people_do_and_without_sway_like_a_statue() -> None:
    found = [outcomes(load(None), f"wait {number}", ("postural_sway",)) for number in range(2)]
    swaying, still = ([one[key]["unusual_standing_pct"] for one in found] for key in ("", "postural_sway"))
    # Of people's own values a tenth are outside the percentiles that tell what is usual with them.
    assert max(swaying) < 20 and min(still) > 50


def test_the_table_is_measured_only_where_it_is_asked_for() -> None:
    assert COMPONENTS not in TABLES
    assert len(component_names()) == len(set(component_names())) > 4


def test_the_command_line_measures_the_table_by_its_name(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    some = ["--cases", "1", "0", "0", "--components", "root_limits", "gaze"]
    asked = ["--tables", COMPONENTS, *some, "--processes", "1", "--json", str(out)]
    assert main(["evaluate", "nsm", *asked]) == 0
    assert json.loads(out.read_text())["nsm.components.tasks"] == 1


def test_a_table_that_there_is_not_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=f"'parts'.*{COMPONENTS}"):
        evaluate("nsm", [COMPONENTS, "parts"])
    assert main(["evaluate", "nsm", "--tables", "parts"]) == 1
    assert COMPONENTS in capsys.readouterr().err


@pytest.mark.parametrize("cases", [["1", "2"], ["1", "2", "x"]])
def test_numbers_of_tasks_that_make_no_sense_are_refused(cases: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "nsm", "--tables", COMPONENTS, "--cases", *cases])
