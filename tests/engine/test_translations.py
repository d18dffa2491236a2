# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface in other languages: nothing that a user presses or sets is left in English, and nothing is stale."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {path.stem: path for path in (ROOT / "panels" / "languages").glob("*.json")}
AS_THEY_ARE = {"FBX", "BVH", "IK", "USD", "glTF"}
"""Names that no language translates."""


def labels() -> set[str]:
    """The names of operators, panels, menus and properties, and what panels call them."""
    found = {
        text for room in ("operators", "panels", "scene") for path in (ROOT / room).glob("*.py") for text in _of(path)
    }
    return {text for text in found if text[:1].isupper()} - AS_THEY_ARE


def _of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "bl_label" for t in node.targets):
            values = [node.value]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            asked = {"name"} if called.endswith("Property") else {"text", "heading"}
            wanted = "name" in asked or path.parent.name == "panels"
            values = [word.value for word in node.keywords if wanted and word.arg in asked]
        else:
            continue
        for text in (branch for value in values for branch in _branches(value)):
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value


def _branches(value: ast.expr) -> list[ast.expr]:
    """What a text may be: `"Bind Again" if bound else "Bind Rig"` is either."""
    return [*_branches(value.body), *_branches(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def test_there_is_a_language() -> None:
    assert "de" in LANGUAGES
    assert len(labels()) > 150


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_label_is_translated_and_none_that_is_gone(language: str) -> None:
    texts = json.loads(LANGUAGES[language].read_text(encoding="utf-8"))
    assert sorted(labels() - set(texts)) == []
    assert sorted(set(texts) - labels()) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_empty_or_padded(language: str) -> None:
    texts = json.loads(LANGUAGES[language].read_text(encoding="utf-8"))
    assert not [english for english, text in texts.items() if not text or text != text.strip()]
