# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts that a user reads: Blender's American English, about characters and things."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

NEVER = {
    "a person for the character": r"\b(who|whom|nobody|somebody|someone|himself|herself|he|she)\b",
    "an exclamation": r"!",
    "a joined half sentence": r"[.!?];",
    "a word in place of its plural": r"\(e?s\)",
}
"""What no text has, and by what it is found."""


@pytest.fixture(scope="module")
def listing(repository: Path) -> list[tuple[str, int, str]]:
    """All texts with file and line."""
    spec = importlib.util.spec_from_file_location("ui_strings", repository / "tools" / "ui_strings.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.strings(repository))


def test_the_listing_has_labels_descriptions_reports_and_errors(listing):
    texts = {text for _, _, text in listing}
    assert "Pin Joint" in texts
    assert "Kind of locomotion" in texts
    assert "Removed the bake '{}'{}" in texts
    assert "No curve is chosen; choose one as the character's path, or add one with 'Add Path'." in texts
    assert not any("Blender reads the annotations" in text for text in texts), "comments of the code are no texts"


def test_all_texts_are_spelled_as_americans_do(listing, tmp_path):
    pytest.importorskip("codespell_lib", reason="codespell is a part of the development set-up")
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(f"{path}:{line}: {text}" for path, line, text in listing), encoding="utf-8")
    command = [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare,informal,en-GB_to_en-US", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("what", NEVER)
def test_no_text_has(listing, what):
    found = [f"{path}:{line}: {text}" for path, line, text in listing if re.search(NEVER[what], text)]
    assert not found, "\n".join(found)


def test_messages_of_the_status_bar_and_labels_begin_with_a_capital(repository):
    """Blender's own labels do, and F3 shows them."""
    labels = [
        label
        for folder in ("operators", "panels")
        for path in (repository / folder).glob("*.py")
        for label in re.findall(r'bl_label = "(.*)"', path.read_text(encoding="utf-8"))
    ]
    small = {"to", "of", "as", "and", "by", "glTF"}  # glTF is a name that is written so
    assert len(labels) > 60
    assert not [one for one in labels if any(word not in small and not word[0].isupper() for word in one.split())]
