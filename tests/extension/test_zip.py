# SPDX-License-Identifier: GPL-3.0-or-later
"""What travels in the zip, and what does not."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

FILES = {"__init__.py", "blender_manifest.toml", "LICENSE", "README.md"}
ENDINGS = {".py", ".typed", ".toml", ".md", ".txt", ".json", ".safetensors", ".whl", ""}


@pytest.fixture(scope="module")
def names(extension_zip: Path) -> set[str]:
    with zipfile.ZipFile(extension_zip) as archive:
        return set(archive.namelist())


def test_the_zip_has_what_a_bake_needs(names: set[str], repository: Path) -> None:
    weights = {f"weights/{path.name}" for path in (repository / "weights").glob("*.safetensors")}
    cards = {str(Path(name).with_suffix(".json")) for name in weights}
    assert weights
    assert names >= {"__init__.py", "blender_manifest.toml", "LICENSE", "nsm_blender/baking/bake.py"} | weights | cards


def test_the_zip_has_nothing_but_the_extension(names: set[str]) -> None:
    rooms = {"nsm_blender", "scene", "operators", "panels", "weights", "wheels"}
    assert {name.split("/")[0] for name in names if "/" in name} <= rooms
    assert {name for name in names if "/" not in name} <= FILES
    assert not [name for name in names if name.startswith(("nsm_blender/training/", "nsm_blender/commands/"))]


def test_the_zip_has_no_native_code(names: set[str]) -> None:
    assert {Path(name).suffix for name in names} <= ENDINGS
    assert all(name.endswith("py3-none-any.whl") for name in names if name.endswith(".whl"))


def test_the_zip_is_small_enough_to_send(extension_zip: Path) -> None:
    """extensions.blender.org takes at most 200 MB; mail systems about 25."""
    assert extension_zip.stat().st_size < 25e6
