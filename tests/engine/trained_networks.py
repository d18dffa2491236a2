# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of networks that were trained to be compared, as far as their cards tell, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nsm_blender.cli import main


def write_networks(folder: Path, seed: int, settings: Mapping[str, Mapping[str, Any]]) -> Path:
    """Networks with their own settings, by name, and all else alike."""
    folder.mkdir()
    for name, own in settings.items():
        (folder / f"{name}.safetensors").write_bytes(b"weights")
        told = {"without": [], "gating": "kronecker", "epochs": 2, "seed": seed, **own}
        training = {"frames": 1000, "history": [{"loss": 1.0}] * 2, "settings": told}
        (folder / f"{name}.json").write_text(json.dumps({"actions": ["sit"], "training": training}))
    return folder


def refusal(table: str, folders: Sequence[Path], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says that refuses to measure a table of networks in some folders."""
    more = ["--ablations", *map(str, folders)] if folders else []
    assert main(["evaluate", "nsm", "--tables", table, *more, "--processes", "1"]) == 1
    return capsys.readouterr().err
