# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed-loop validation while the NSM trains: sitting down and picking up on furniture that nothing else sees.

The loss says little about a rollout, which meets its own errors; so the weights that act best are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..evaluation.nsm import trials
from ..models.nsm import NSM
from .cards import save_weights
from .nsm import Trainer

BEST = "best.safetensors"
"""In the run's folder: the weights that did best so far."""
_THINGS = 6
"""Pieces of furniture, one trial on each."""
_SCORE = "closed_loop_cm"
_UNFINISHED_CM = 50.0
"""What a trial that is not finished counts as."""


def validator(
    every: int, card: dict[str, Any], folder: Path, log: Callable[[str], None] = print
) -> Callable[[Trainer], dict[str, float]]:
    """What a trainer shall do after each epoch: every so many epochs, and after the last one, roll out and keep the
    best weights in `folder`. card: its "standing" and "actions". Returns the row's figures: the share of trials that
    were finished, and the mean error in cm, one that was not finished counting 50 cm, before the last correction."""

    def after_epoch(trainer: Trainer) -> dict[str, float]:
        if trainer.epoch % every and trainer.epoch < trainer.settings.epochs:
            return {}
        tensors = trainer.export()
        network = NSM(tensors, card)
        row: dict[str, float] = {}
        errors = []
        for task, action in (("sit", "sit"), ("carry", "pick_up")):
            if action not in card["actions"]:
                continue
            done = [one for n in range(_THINGS) for one in trials(network, task, n, 1, development=True)]
            found = [min(one.raw_cm, _UNFINISHED_CM) if one.finished else _UNFINISHED_CM for one in done]
            row[f"{task}.finished"] = sum(one.finished for one in done) / len(done)
            row[f"{task}.raw_cm"] = sum(found) / len(found)
            errors += found
        if not errors:
            return row
        row[_SCORE] = sum(errors) / len(errors)
        best = min((past[_SCORE] for past in trainer.history if _SCORE in past), default=math.inf)
        if row[_SCORE] < best:
            save_weights(tensors, folder / BEST)
            log(f"best so far: {row[_SCORE]:.1f} cm")
        return row

    return after_epoch
