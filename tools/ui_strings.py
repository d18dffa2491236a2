# SPDX-License-Identifier: GPL-3.0-or-later
"""All texts of the extension that a user may read, a line each with file and line: to look through, and to spell-check.

python tools/ui_strings.py [FOLDER]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_SHOWN = ("operators", "panels", "scene")
"""Folders whose texts are labels, descriptions and messages."""
_ENGINE = "nsm_blender"
"""The folder of which only the errors, warnings and notes are shown."""
_SAID = ("Error", "Problem", "Finding")
"""Ends of the names of the engine's classes that carry a sentence to the user."""
_HOLE = "{}"
"""Stands for what a sentence is filled in with."""


def strings(root: Path) -> Iterator[tuple[str, int, str]]:
    """File, line and text of each."""
    for folder in (*_SHOWN, _ENGINE):
        for path in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            parts = _said(tree) if folder == _ENGINE else [tree]
            names = _docstrings(tree, with_classes=folder != _ENGINE)
            for part in parts:
                for line, text in _texts(part, names):
                    yield str(path.relative_to(root)), line, text


def _said(tree: ast.AST) -> list[ast.AST]:
    """The calls whose texts the engine says to the user."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id.endswith(_SAID)]


def _docstrings(tree: ast.AST, *, with_classes: bool) -> set[int]:
    """The ids of the sentences that are comments: docstrings, and those below constants.

    with_classes: whether the docstrings of operators' classes are none of them, as Blender shows these.
    """
    hidden = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        shown = with_classes and isinstance(node, ast.ClassDef) and node.name.startswith("NSM_OT_")
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and (number or not shown):
                hidden.add(id(statement.value))
    return hidden


def _texts(tree: ast.AST, hidden: set[int]) -> Iterator[tuple[int, str]]:
    """Line and text of each sentence or label; f-strings as one, with holes."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            text = "".join(str(p.value) if isinstance(p, ast.Constant) else _HOLE for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden | inside:
            text = node.value
        else:
            continue
        text = " ".join(text.split())
        if _is_shown(text):
            yield node.lineno, text


def _is_shown(text: str) -> bool:
    """Whether a text has words for people: several words, or one that begins with a capital and goes on small."""
    words = text.replace(_HOLE, " ").split()
    if len(words) > 1:
        return any(word.isalpha() for word in words)
    return len(words) == 1 and words[0].istitle() and words[0].isalpha()


def main() -> None:
    """Print the listing."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    for file, line, text in strings(root):
        print(f"{file}:{line}: {text}")


if __name__ == "__main__":
    main()
