# SPDX-License-Identifier: GPL-3.0-or-later
"""What travels in the zip, and what does not."""

from __future__ import annotations

import ast
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
    left_out = tuple(f"nsm_blender/{room}/" for room in ("training", "commands", "evaluation"))
    assert not [name for name in names if name.startswith(left_out)]


def test_nothing_in_the_zip_starts_processes_or_opens_connections(extension_zip: Path) -> None:
    """What a bake does, it does in Blender."""
    outside = {"subprocess", "multiprocessing", "socket", "urllib", "http", "ctypes", "pickle"}
    with zipfile.ZipFile(extension_zip) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                assert not imported(archive.read(name).decode()) & outside, name


def imported(source: str) -> set[str]:
    """The top modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_the_zip_has_no_native_code(names: set[str]) -> None:
    assert {Path(name).suffix for name in names} <= ENDINGS
    assert all(name.endswith("py3-none-any.whl") for name in names if name.endswith(".whl"))


def test_the_zip_is_small_enough_to_send(extension_zip: Path) -> None:
    """extensions.blender.org takes at most 200 MB; what is beyond 50 is no longer fetched while a user waits."""
    assert extension_zip.stat().st_size < 50e6
