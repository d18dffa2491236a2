# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of gui_session.py that try the mouse operators and measure: panels, and a bake with its preview.

Each takes the session, whose helpers it uses.
"""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import bpy
from bpy_extras import view3d_utils
from mathutils import Vector

FOLDER = Path(__file__).resolve().parent
PACKAGE = "bl_ext.user_default.nsm_blender"
DRAWS = 40
"""Drawings of the sidebar that are timed."""
SLOW = (0.0, 0.5, 1.5)
"""Seconds by which each drawing of the viewport is slowed down for a bake."""
BAKES = 3
"""Bakes at each slowness, of which the median counts: half a second of work is easily disturbed."""
CALM = 1.0
"""Seconds without a drawing after which the viewport rests."""


_LEG, _SEAT, _BACK = 0.44, (0.44, 0.44, 0.04), (0.44, 0.04, 0.45)
"""Meters: the legs' height, and the sizes of the seat and the backrest of the own chair."""


def own_chair(session: ModuleType) -> None:
    """The character, and an own chair of joined primitives that nothing has been done to, seen from the front."""
    session.clear()
    session.in_viewport(bpy.ops.nsm.add_character)
    character = bpy.context.view_layer.objects.active
    pieces = []
    for x, y in ((-0.2, -0.2), (0.2, -0.2), (-0.2, 0.2), (0.2, 0.2)):
        session.in_viewport(
            bpy.ops.mesh.primitive_cylinder_add, radius=0.02, depth=_LEG, location=(x, y, _LEG / 2), vertices=12
        )
        pieces.append(bpy.context.view_layer.objects.active)
    for size, place in ((_SEAT, (0.0, 0.0, _LEG + 0.02)), (_BACK, (0.0, 0.2, _LEG + 0.265))):
        session.in_viewport(bpy.ops.mesh.primitive_cube_add, size=1.0, location=place, scale=size)
        pieces.append(bpy.context.view_layer.objects.active)
    for piece in pieces:
        piece.select_set(True)
    session.in_viewport(bpy.ops.object.join)
    session.in_viewport(bpy.ops.object.origin_set, type="ORIGIN_CURSOR")
    chair = bpy.context.view_layer.objects.active
    chair.name = "My Chair"
    chair.location = (1.5, -1.0, 0.0)
    session.with_active(character)
    session.viewport().spaces.active.show_region_ui = True
    bpy.context.view_layer.update()
    session.in_viewport(bpy.ops.view3d.view_all)


def tell_keys(session: ModuleType) -> None:
    """Write how many keyframes the objects' actions have."""
    counts = {}
    for obj in bpy.context.scene.objects:
        action = session.action_of(obj)
        if action is not None:
            counts[obj.name] = sum(len(curve.keyframe_points) for curve in _curves(action))
    (FOLDER / "keys.json").write_text(json.dumps(counts))


def _curves(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    """The curves of an action; Blender 4.4 and newer keep them by slots."""
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags for curve in bag.fcurves]


def tell_places(session: ModuleType) -> None:
    """Write where on the screen, from the top left, the objects' origins are, and 45 cm above them."""
    # What an operator has just placed has its matrix only after an update, which drawing may bring later.
    bpy.context.view_layer.update()
    area = session.viewport()
    region = next(region for region in area.regions if region.type == "WINDOW")
    height = session.window().height
    places: dict[str, tuple[int, int]] = {}
    for obj in bpy.context.scene.objects:
        for name, above in ((obj.name, 0.0), (f"{obj.name}+", 0.45)):
            world = obj.matrix_world.translation + Vector((0.0, 0.0, above))
            pixel = view3d_utils.location_3d_to_region_2d(region, area.spaces.active.region_3d, world)
            if pixel is not None:
                places[name] = (round(region.x + pixel.x), round(height - region.y - pixel.y))
    view = [round(value, 4) for row in area.spaces.active.region_3d.view_matrix for value in row]
    goals = {
        obj.name: {
            "uses": obj.nsm.goal.uses.name if obj.nsm.goal.uses else "",
            "place": obj.matrix_world.translation[:],
            "turn": obj.matrix_world.to_euler()[:],
        }
        for obj in bpy.context.scene.objects
        if obj.nsm.goal.is_goal
    }
    modal = [operator.bl_idname for operator in session.window().modal_operators]
    told = {"places": places, "view": view, "goals": goals, "modal": modal}
    (FOLDER / "places.json").write_text(json.dumps(told))


def place_goal(session: ModuleType) -> None:
    """Start the operator as from the sidebar's button."""
    _invoke(session, bpy.ops.nsm.place_goal)


def bake_invoked(session: ModuleType) -> None:
    """Start a bake with its preview."""
    _invoke(session, bpy.ops.nsm.bake)


def show_preferences(_session: ModuleType) -> None:
    """Open the preferences at the extension, in a window of their own."""
    bpy.ops.preferences.addon_show(module=PACKAGE)


def close_preferences(_session: ModuleType) -> None:
    """Close that window."""
    windows = bpy.context.window_manager.windows
    if len(windows) > 1:
        with bpy.context.temp_override(window=windows[-1]):
            bpy.ops.wm.window_close()


def time_panels(session: ModuleType) -> None:
    """Draw the sidebar again and again, and write down what the time inside the panels' own drawing was."""
    classes = importlib.import_module(f"{PACKAGE}.panels").CLASSES
    spent: list[float] = []
    each: dict[str, float] = {}
    kept: list[tuple[Any, str, Any]] = []

    def timed(name: str, draw: Callable[..., None]) -> Callable[..., None]:
        # Blender counts the arguments.
        def drawn(self: bpy.types.Panel, context: bpy.types.Context) -> None:
            began = time.thread_time()
            draw(self, context)
            took = 1e3 * (time.thread_time() - began)
            spent[-1] += took
            each[name] = each.get(name, 0.0) + took

        return drawn

    for cls in classes:
        if issubclass(cls, bpy.types.Panel):
            kept.append((cls, "draw", cls.draw))
            cls.draw = timed(cls.__name__, cls.draw)
    try:
        for _ in range(DRAWS):
            spent.append(0.0)
            session.sidebar().tag_redraw()
            bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    finally:
        for cls, name, draw in kept:
            setattr(cls, name, draw)
    drawn = sorted(value for value in spent[1:] if value > 0)
    figures = {
        "draws": len(drawn),
        "thread_median_ms": drawn[len(drawn) // 2] if drawn else 0.0,
        "thread_max_ms": drawn[-1] if drawn else 0.0,
        "each_ms": {name: value / max(len(drawn), 1) for name, value in each.items()},
    }
    (FOLDER / "panels.json").write_text(json.dumps(figures))


def time_bakes(session: ModuleType) -> None:
    """Bake the demo without a preview, then with it, at each slowness of the viewport; results come as they end.

    Before each of them a bake is removed: as in any session, an operator was used before.
    """
    bakes = _Bakes(session)
    bpy.app.timers.register(bakes.tick, first_interval=0.1)


class _Bakes:
    """Bakes one after the other, each from the operator's start to its end."""

    def __init__(self, session: ModuleType) -> None:
        self.session = session
        self.waiting = [slow for slow in SLOW for _ in range(BAKES)]
        self.figures: dict[str, list[float]] = {}
        self.slow = 0.0
        self.began = self.ended = self.drawn = 0.0
        self.handler: Any = None
        self.drawings = 0

    def tick(self) -> float | None:
        """Blender calls this again and again."""
        if self.handler and not self.began:
            return self._start_when_calm()
        if self.began and self.session.describe()["baking"]:
            return 0.02
        if self.began:
            self._note(f"with_{self.slow:g}", self.ended - self.began)
            self._note(f"drawings_{self.slow:g}", self.drawings)
            bpy.types.SpaceView3D.draw_handler_remove(self.handler, "WINDOW")
            self.handler, self.began = None, 0.0
        elif not self.figures:
            # The first bake loads the network, which the others find loaded.
            self.session.in_viewport(bpy.ops.nsm.bake)
            for _ in range(BAKES):
                _forget_bakes()
                began = time.monotonic()
                self.session.in_viewport(bpy.ops.nsm.bake)
                self._note("without", time.monotonic() - began)
        if not self.waiting:
            medians = {name: statistics.median(values) for name, values in self.figures.items()}
            (FOLDER / "bakes.json").write_text(json.dumps(medians))
            return None
        self.slow = self.waiting.pop(0)
        self._watch_end()
        self.handler = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_VIEW")
        # In a fresh Blender nothing is known of how long a drawing takes, until the first operator was used.
        importlib.import_module(f"{PACKAGE}.scene.progress").Progress.redraw_seconds = 0.0
        self.session.in_viewport(bpy.ops.nsm.remove_bake)
        self.drawn = time.monotonic()
        return 0.02

    def _note(self, name: str, value: float) -> None:
        self.figures.setdefault(name, []).append(value)

    def _start_when_calm(self) -> float:
        """Start the bake once the viewport rests. After each change of the scene Blender draws it eight times over, to
        smooth edges; what it still had to draw of the last change is not the preview's."""
        if time.monotonic() - self.drawn > CALM:
            self.drawings = 0
            _forget_bakes()
            self.began = time.monotonic()
            _invoke(self.session, bpy.ops.nsm.bake)
        return 0.02

    def _draw(self) -> None:
        """Slow the viewport down."""
        self.drawings += 1
        time.sleep(self.slow)
        self.drawn = time.monotonic()

    def _watch_end(self) -> None:
        """Note when the operator ends: what follows is the drawing of its result, which any bake has."""
        operator = bpy.types.NSM_OT_bake
        modal = getattr(operator, "plain_modal", operator.modal)
        operator.plain_modal = modal
        bakes = self

        def watched(self: bpy.types.Operator, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
            result = modal(self, context, event)
            if result & {"FINISHED", "CANCELLED"}:
                bakes.ended = time.monotonic()
            return result

        operator.modal = watched


def _forget_bakes() -> None:
    """Let the next bake begin at its first frame: else it takes all from the last one, as nothing was changed."""
    importlib.import_module(f"{PACKAGE}.operators.earlier").Earlier._bakes.clear()


def _invoke(session: ModuleType, operator: Any) -> None:
    """Start an operator with its invoke function, as from the viewport."""
    area = session.viewport()
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=session.window(), area=area, region=region):
        session.log(f"{operator.idname_py()}: {operator('INVOKE_DEFAULT')}")


COMMANDS = (
    own_chair,
    tell_keys,
    tell_places,
    place_goal,
    bake_invoked,
    show_preferences,
    close_preferences,
    time_panels,
    time_bakes,
)
