# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files that travel with the engine lie."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def weights_folder() -> Path:
    """The folder of the trained models and their cards.

    A pip installation carries it inside the package; in the extension and in a clone it lies beside the package.
    """
    inside = _PACKAGE / "weights"
    return inside if inside.is_dir() else _PACKAGE.parent / "weights"
