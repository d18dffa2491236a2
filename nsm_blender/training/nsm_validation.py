# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed-loop validation while the NSM trains: sitting down and picking up on furniture that nothing else sees.

The loss says little about a rollout, which meets its own errors; so the weights that act best are kept.
"""

from __future__ import annotations

from typing import Any

from ..evaluation.nsm_trials import trials
from ..models.nsm_predictor import of_tensors
from .loop import SCORE, Training, Validate

_PIECES = 6
"""Number of pieces of furniture, each with one trial."""
_UNFINISHED_CM = 50.0
"""Error in centimeters that a trial counts which is not finished."""
_TASKS = {"sit": "sit", "carry": "pick_up"}
"""Tasks that are rolled out, and the action of a network's card that each needs."""


def validator(card: dict[str, Any]) -> Validate:
    """The validation of networks with the card's "network", "standing" and "actions".

    Its figures, by task: the share of trials that were finished, and the mean error in cm before the last correction,
    an unfinished trial counting 50 cm; of all trials this error is the score.
    """

    def validate(training: Training) -> dict[str, float]:
        network = of_tensors(training.export(), card)
        row: dict[str, float] = {}
        errors: list[float] = []
        for task in (task for task, action in _TASKS.items() if action in card["actions"]):
            done = [t for number in range(_PIECES) for t in trials(network, task, number, 1, development=True)]
            found = [min(t.raw_cm, _UNFINISHED_CM) if t.finished else _UNFINISHED_CM for t in done]
            row[f"{task}.finished"] = sum(t.finished for t in done) / len(done)
            row[f"{task}.raw_cm"] = sum(found) / len(found)
            errors += found
        return row | {SCORE: sum(errors) / len(errors)} if errors else row

    return validate
