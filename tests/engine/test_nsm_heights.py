# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads are put down at all heights, and the table tells by height what became of them."""

from __future__ import annotations

import math

import pytest

from nsm_blender.evaluation.nsm_heights import COUNT, HIGHEST, Put, height_figures, put_shot
from nsm_blender.tasks.validation import check


def test_blocks_stand_at_all_heights_and_shots_are_sound() -> None:
    heights = []
    for number in range(0, COUNT, 11):
        height, shot = put_shot(number, development=True)
        shot.validate()
        block = next(collider for collider in shot.colliders if collider.name == "block")
        top = float((block.cuboids.center + block.cuboids.half)[:, 2].max())
        assert top == pytest.approx(height)
        assert not [problem for problem in check(shot, ["pick_up", "put_down", "walk"]) if problem.key == 0]
        heights.append(height)
    assert heights == sorted(heights) and heights[0] < 0.05 and heights[-1] == pytest.approx(HIGHEST)


def test_unfinished_cases_lower_the_share_and_not_the_errors() -> None:
    found = [Put(0.1, 2.0, 1.0, 0.1), Put(0.2, math.inf, math.inf, math.inf), Put(1.1, 6.0, 3.0, 0.3)]
    figures = height_figures(found, lambda line: None)
    assert figures["nsm.heights.all.done"] == pytest.approx(2 / 3)
    assert figures["nsm.heights.all.raw_cm"] == pytest.approx(4.0)
    assert figures["nsm.heights.all.raw_cm.max"] == 6.0
    assert figures["nsm.heights.to_0.3m.done"] == 0.5 and figures["nsm.heights.to_1.2m.cm"] == 0.3
    assert not any(name.startswith("nsm.heights.to_0.6m") for name in figures)
