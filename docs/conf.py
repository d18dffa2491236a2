# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents as a website: `make docs` builds it into out/docs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WEIGHTS = Path(__file__).resolve().parents[1] / "weights"
RESULTS = "<!-- results -->"
"""What the tables of the model cards stand in place of."""

project = "Neural State Machine"
copyright = "2026 The nsm_blender authors, GPL-3.0-or-later"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_sourcelink = False
nitpicky = True
exclude_patterns = ["store"]


def setup(app: Sphinx) -> None:
    """Sphinx calls this first."""
    app.connect("source-read", _fill_in_results)


def _fill_in_results(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Fill the page of results with the figures of the model cards, so that it cannot lie."""
    if RESULTS in source[0]:
        source[0] = source[0].replace(RESULTS, "\n".join(tables()))


def tables() -> Iterator[str]:
    """The lines of a section for each model card."""
    for path in sorted(WEIGHTS.glob("*.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        yield from (f"## {path.stem}", "", f"{card['paper']}. Licence: {card['licence']}.", "")
        if "command" in card["training"]:
            yield from (f"Trained by `{card['training']['command']}`.", "")
        yield from ("| figure | measured |", "|---|---|")
        for name, value in sorted(card["results"].items()):
            if isinstance(value, int | float):
                yield f"| `{name}` | {value:g} |"
        yield ""
