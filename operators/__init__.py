# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: gather from the scene, call the engine, write through the scene."""

from __future__ import annotations

from . import bake, character, edit, export, files, path

CLASSES = (*bake.CLASSES, *character.CLASSES, *path.CLASSES, *edit.CLASSES, *export.CLASSES, *files.CLASSES)
