# SPDX-License-Identifier: GPL-3.0-or-later
"""Every action that a key may ask for has its task, complete and true to the rest of the engine."""

from __future__ import annotations

import importlib.util

import pytest

from nsm_blender.geometry.roles import KINDS
from nsm_blender.planning.approach_poses import poses_before
from nsm_blender.shot.goals import ACTIONS, LOCOMOTION
from nsm_blender.tasks.protocol import Task
from nsm_blender.tasks.registry import TASKS


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
