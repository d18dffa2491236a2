# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels drawn into a layout that writes down what a person would see, and how high it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy

ICONS = bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items


class Layout:
    """Stands for a UILayout; refuses what Blender would show as an error. shown: all texts, in their order."""

    def __init__(self, shown: list[str] | None = None, sideways: bool = False) -> None:
        self.shown: list[str] = [] if shown is None else shown
        self.sideways = sideways
        self.enabled = self.active = True
        self.use_property_split = False
        self.scale_y = 1.0
        self.own: list[str] = []
        """The texts of this part alone."""
        self._heights: list[float] = []
        self._below: list[Layout] = []

    @property
    def height(self) -> float:
        """Rows that this takes."""
        heights = self._heights + [part.height for part in self._below]
        return self.scale_y * (max(heights, default=0) if self.sideways else sum(heights))

    def _add(self, text: str | None, rows: float = 1, icon: str = "NONE") -> None:
        assert icon in ICONS, f"there is no icon {icon}"
        self._heights.append(rows)
        if text:
            self.shown.append(text)
            self.own.append(text)

    def label(self, text: str = "", icon: str = "NONE") -> None:
        self._add(text, icon=icon)

    def prop(
        self,
        data: bpy.types.bpy_struct,
        name: str,
        text: str | None = None,
        icon: str = "NONE",
        emboss: bool = True,
        expand: bool = False,
    ) -> None:
        known = data.bl_rna.properties[name]
        if expand:
            self.shown += [item.name for item in known.enum_items]
        self._add(known.name if text is None else text, max(getattr(known, "array_length", 0), 1), icon)

    def prop_search(self, data: bpy.types.bpy_struct, name: str, among: Any, among_name: str, text: Any = None) -> None:
        assert among_name in among.bl_rna.properties
        self.prop(data, name, text=text)

    def prop_enum(self, data: bpy.types.bpy_struct, name: str, value: str) -> None:
        self._add(data.bl_rna.properties[name].enum_items[value].name if self.enabled else "")

    def operator(
        self, identifier: str, icon: str = "NONE", text: str | None = None, depress: bool = False
    ) -> SimpleNamespace:
        module, name = identifier.split(".")
        kind = getattr(getattr(bpy.ops, module), name).get_rna_type()
        self._add(kind.name if text is None else text, icon=icon)
        return SimpleNamespace()

    def operator_menu_enum(self, identifier: str, name: str, text: str | None = None, icon: str = "NONE") -> None:
        module, operator = identifier.split(".")
        kind = getattr(getattr(bpy.ops, module), operator).get_rna_type()
        assert kind.properties[name].type == "ENUM"
        self._add(kind.name if text is None else text, icon=icon)

    def menu(self, identifier: str, text: str | None = None, icon: str = "NONE") -> None:
        self._add(getattr(bpy.types, identifier).bl_label if text is None else text, icon=icon)

    def template_list(
        self, list_type: str, _name: str, data: Any, items: str, active: Any, active_name: str, rows: int, maxrows: int
    ) -> None:
        assert active_name in active.bl_rna.properties
        for item in getattr(data, items):
            row = Layout()
            getattr(bpy.types, list_type).draw_item(None, bpy.context, row, data, item, 0, active, active_name)
            self.shown += row.shown
        self._heights.append(min(max(rows, len(getattr(data, items))), maxrows))

    def progress(self, factor: float, text: str) -> None:
        assert 0 <= factor <= 1
        self._add(text)

    def separator(self) -> None:
        self._heights.append(0.5)

    def column(self, heading: str = "", **_options: object) -> Layout:
        return self._part(sideways=False)

    def row(self, **_options: object) -> Layout:
        return self._part(sideways=True)

    split = row

    def _part(self, sideways: bool) -> Layout:
        part = Layout(self.shown, sideways)
        self._below.append(part)
        return part


def panels(top: bool | None = None) -> list[type[bpy.types.Panel]]:
    """The extension's panels in the order of the sidebar; top: only those of the first level, or only those below."""
    found = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith("NSM_PT_")]
    return [panel for panel in found if top is None or top == (not getattr(panel, "bl_parent_id", ""))]


def layout_of(panel: str) -> Layout:
    """What a panel shows now."""
    kind, layout = getattr(bpy.types, panel), Layout()
    assert not hasattr(kind, "poll") or kind.poll(bpy.context), f"{panel} is hidden"
    kind.draw(SimpleNamespace(layout=layout), bpy.context)
    return layout


def drawn(panel: str) -> list[str]:
    """The texts that a panel shows now."""
    return layout_of(panel).shown


def menu(name: str) -> dict[str, bool]:
    """The entries of a menu, and whether each can be chosen now."""
    layout = Layout()
    getattr(bpy.types, name).draw(SimpleNamespace(layout=layout), bpy.context)
    return {text: part.enabled for part in (layout, *layout._below) for text in part.own}
