# SPDX-License-Identifier: GPL-3.0-or-later
"""How often work that runs in a window is drawn."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("drawing", [0.001, 0.05, 0.3, 1.5])
@pytest.mark.parametrize("work", [6.0, 60.0])
def test_however_long_a_drawing_takes_the_work_takes_a_third_longer_at_most(extension_module, drawing, work):
    pace = extension_module("operators.modal").Pace()
    now = done = 0.0
    drawings = 0
    while done < work:
        pace.drawn(now)
        now, done = now + 0.03, done + 0.03
        if pace.is_due(now):
            pace.draw(now)
            drawings += 1
            now += drawing
    first = drawing  # shown at once, so that something is seen of short work
    assert now - first <= 1.3 * work
    assert drawings >= min(work / (0.2 + 5 * drawing), 2), "what there is to see is seen"
