# SPDX-License-Identifier: GPL-3.0-or-later
"""All actions: the only place that lists them."""

from __future__ import annotations

from ..shot.goals import ActionKey
from .carry import PUT_DOWN, PickUp
from .climb import Climb
from .idle import Idle
from .jump import Jump
from .open import Open
from .protocol import Task
from .sit import SIT
from .walk import Run, Walk

_ALL = (Idle(), Walk(), Run(), SIT, Open(), PickUp(), PUT_DOWN, Climb(), Jump())
TASKS: dict[str, Task] = {task.name: task for task in _ALL}
"""The task of each of shot.goals.ACTIONS."""


def task_of(key: ActionKey) -> Task:
    """The task of a key."""
    return TASKS[key.action]
