# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a new character stands."""

from __future__ import annotations

import bpy
import numpy as np

from .shapes import box, boxes


def added() -> np.ndarray:
    """Where a character is added."""
    bpy.ops.nsm.add_character()
    return np.array(bpy.context.object.location)


def test_in_an_empty_scene_it_stands_at_the_cursor():
    bpy.context.scene.cursor.location = (1, 2, 0.5)
    assert np.allclose(added(), (1, 2, 0.5))


def test_two_characters_do_not_stand_in_each_other():
    places = [added() for _ in range(4)]
    apart = [np.linalg.norm(a - b) for i, a in enumerate(places) for b in places[:i]]
    assert min(apart) > 0.5


def test_it_stands_beside_the_default_cube():
    box(2.0)
    x, y, z = added()
    assert max(abs(x), abs(y)) > 1.2
    assert z == 0


def test_floors_walls_and_beams_overhead_leave_the_place_free():
    boxes(((-5, -5, -0.2), (5, 5, 0.0)), ((-5, 4.8, 0), (5, 5, 2.5)), ((-5, -5, 2.3), (5, 5, 2.5)), name="Room")
    assert np.allclose(added(), 0)


def test_where_everything_is_full_it_stands_at_the_cursor():
    box(60.0)
    assert np.allclose(added(), 0)


def test_the_scene_s_unit_does_not_matter():
    bpy.context.scene.unit_settings.scale_length = 0.01
    box(200.0)
    x, y, _ = added()
    assert max(abs(x), abs(y)) > 120
