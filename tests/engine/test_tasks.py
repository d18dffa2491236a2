# SPDX-License-Identifier: GPL-3.0-or-later
"""Every action that a key may ask for has its task, complete and true to the rest of the engine."""

from __future__ import annotations

import importlib.util

import pytest

from nsm_blender.geometry.roles import KINDS, Carryable, Climbable, Door, Seat, Surface
from nsm_blender.planning.approach_poses import poses_before
from nsm_blender.shot.goals import ACTIONS, LOCOMOTION, ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.protocol import Task
from nsm_blender.tasks.registry import TASKS
from nsm_blender.tasks.validation import check

from .obstacles import box

HANDLES = {
    "seat": Seat([0.0, 0.0, 0.2], [0.0, -1.0, 0.0], 0.4, 0.4),
    "door": Door([-0.2, 0.0, -0.2], [0.0, 0.0, 1.0], [0.15, 0.0, 0.0], 0.4, 0.4, 1.5),
    "carryable": Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 1.0, 0.0]),
    "surface": Surface([0.0, 0.0, 0.2], [0.0, -1.0, 0.0], 0.4, 0.4),
    "climbable": Climbable([0.0, -0.2, 0.2], [0.0, 1.0, 0.0], [0.0, 0.1, 0.2], 0.4),
}


def test_every_action_has_a_task_and_every_task_is_an_action() -> None:
    assert set(TASKS) == set(ACTIONS)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_says_what_it_needs_and_what_it_was_learned_from(task: Task) -> None:
    assert task.doing
    assert (task.role in KINDS and bool(task.verb)) != (task.name in LOCOMOTION)
    for module in task.training:
        assert importlib.util.find_spec(f"nsm_blender.training.episodes.{module}") is not None


@pytest.mark.parametrize("kind", KINDS.values())
def test_things_of_every_role_can_be_walked_to(kind: type) -> None:
    assert poses_before.dispatch(kind) is not poses_before.dispatch(object)


@pytest.mark.parametrize("role", HANDLES)
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_key_on_a_thing_of_another_role_is_refused_in_words(task: Task, role: str) -> None:
    thing = box("Thing", (0.0, 0.0, 0.2), (0.4, 0.4, 0.4), role=role, handles=HANDLES[role])
    keys, goals = [ActionKey(task.name, "goal")], [Goal("goal", [0.0, 0.0, 0.0], None, "Thing")]
    shot = Shot("Walker", 30.0, 600, keys=keys, goals=goals, colliders=[thing], start=[0.0, 3.0, 0.0, 0.0])
    said = [problem.text for problem in check(shot, ACTIONS) if problem.fatal and "needs a" in problem.text]
    assert bool(said) == (task.role not in ("", role))
    assert all(text.startswith(task.doing.capitalize()) for text in said)
