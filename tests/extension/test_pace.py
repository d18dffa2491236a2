# SPDX-License-Identifier: GPL-3.0-or-later
"""How often work that runs in a window is drawn."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


def bake(pace, work, drawing, slice_seconds=0.03):
    """Do so many seconds of work with a preview whose drawing takes so long. Returns the seconds, and the drawings."""
    now = done = 0.0
    drawings = 0
    while done < work:
        pace.drawn(now)
        now, done = now + slice_seconds, done + slice_seconds
        if pace.is_due(now, work):
            pace.draw(now)
            drawings += 1
            now += drawing
    return now, drawings


@pytest.mark.parametrize("drawing", [0.001, 0.05, 0.3, 1.5])
@pytest.mark.parametrize("work", [0.5, 2.0, 6.0, 13.0, 60.0])
@pytest.mark.parametrize("is_known", [False, True])
def test_however_long_a_drawing_takes_the_work_takes_less_than_a_third_longer(
    extension_module, drawing, work, is_known
):
    redraw = extension_module("operators.redraw")
    extension_module("scene.progress").Progress.redraw_seconds = drawing if is_known else 0.0
    seconds, drawings = bake(redraw.preview_pace(), work, drawing)
    with_sidebar, _ = bake(redraw.progress_pace(), work, 0.02)
    assert seconds + with_sidebar - work <= 1.3 * work
    if is_known and work > 20 * drawing:
        assert drawings >= 2, "what there is to see is seen"


def test_a_machine_that_draws_quickly_shows_much_and_from_the_start(extension_module):
    extension_module("scene.progress").Progress.redraw_seconds = 0.01
    _, drawings = bake(extension_module("operators.redraw").preview_pace(), 5.0, 0.01)
    assert drawings >= 20


def test_esc_is_seen_soon_after_a_slow_drawing_while_nothing_is_written(extension_module):
    pace = SimpleNamespace(drawn=lambda _now: False)
    job = SimpleNamespace(changes_scene=False)
    operator = SimpleNamespace(_job=job, _preview=pace, _progress=pace, _turned=float("-inf"), _paused=0.0)
    slice_seconds = extension_module("operators.modal").JobOperation._slice
    assert slice_seconds(operator, 3.6) <= 0.1
    # Blender draws after each step that changes the scene: the work has to get most of the time.
    job.changes_scene = True
    assert slice_seconds(operator, 3.6) > 3.6


def test_work_that_changes_the_scene_goes_on_at_once_for_longer_than_the_drawing_that_follows(extension_module):
    extension_module("scene.progress").Progress.redraw_seconds = drawing = 0.4
    budgets = []

    def run(seconds):
        budgets.append(seconds)
        job.changes_scene = len(budgets) > 1

    job = SimpleNamespace(changes_scene=False, done=False, run=run)
    operator = SimpleNamespace(_job=job, _worked=0.0, _show=lambda _context: None, _slice=lambda _now: 0.03)
    modal, tick = extension_module("operators.modal").JobOperation.modal, SimpleNamespace(type="TIMER", value="NOTHING")
    modal(operator, None, tick)
    assert budgets == [0.03], "Esc is seen soon while nothing is written"
    modal(operator, None, tick)
    assert budgets[1] == 0.03 and budgets[2] > drawing
    modal(operator, None, tick)
    assert budgets[3:] == [0.03], "later slices have their own length"
