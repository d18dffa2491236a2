# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface in other languages: a JSON file each in `languages`, named as Blender names the language.

A file has labels in English and what they are called; what it does not have is shown in English.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy

_FOLDER = Path(__file__).parent / "languages"
_CONTEXTS = ("*", "Operator")
"""Where Blender looks for a text: labels of operators have a context of their own."""


def start() -> None:
    """Let Blender show the languages that there are."""
    bpy.app.translations.register(__package__, tables())


def stop() -> None:
    """Show English alone."""
    bpy.app.translations.unregister(__package__)


def tables() -> dict[str, Any]:  # Any: the stubs leave out the contexts
    """For each language the translations of texts in a context."""
    return {path.stem: _contexts(path) for path in sorted(_FOLDER.glob("*.json"))}


def _contexts(path: Path) -> dict[tuple[str, str], str]:
    texts = json.loads(path.read_text(encoding="utf-8"))
    return {(context, english): text for english, text in texts.items() for context in _CONTEXTS}
