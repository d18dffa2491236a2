# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels drawn into a layout that writes down what a person would see, lists and menus included."""

from __future__ import annotations

from types import SimpleNamespace

import bpy

from . import test_panels


class Layout(test_panels.Layout):
    """Also knows lists, menus and properties of operators."""

    def operator(self, identifier, icon="NONE", text=None, depress=False):
        super().operator(identifier, icon=icon, text=text)
        return SimpleNamespace()

    def operator_menu_enum(self, identifier, name, text="", icon="NONE"):
        module, operator = identifier.split(".")
        assert name in getattr(getattr(bpy.ops, module), operator).get_rna_type().properties

    def prop(self, data, name, text=None, icon="NONE", emboss=True):
        super().prop(data, name, text=text)

    def template_list(self, list_type, _name, data, items, active, active_name, rows=0):
        assert hasattr(bpy.types, list_type)
        assert active_name in active.bl_rna.properties
        for item in getattr(data, items):
            row = Layout()
            getattr(bpy.types, list_type).draw_item(None, bpy.context, row, data, item, 0, active, active_name)
            self.shown += row.shown

    def separator(self):
        pass


def drawn(panel):
    """What a panel shows now, or None when it is hidden."""
    panel = getattr(bpy.types, panel)
    if hasattr(panel, "poll") and not panel.poll(bpy.context):
        return None
    layout = Layout()
    panel.draw(SimpleNamespace(layout=layout), bpy.context)
    return layout.shown
