# SPDX-License-Identifier: GPL-3.0-or-later
"""The listing on the extension platform says what the manifest, the licenses and the pictures say."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTING = ROOT / "docs" / "store" / "listing.md"
LONGEST = 64
"""Characters of a tagline or a permission's reason that the platform takes."""
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine",
    "Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material", "Mesh", "Modeling", "Node", "Object",
    "Paint", "Physics", "Pipeline", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor",
    "Tracking", "User Interface", "UV",
}  # fmt: skip
"""The platform's tags of add-ons."""


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def listing() -> str:
    return LISTING.read_text(encoding="utf-8")


def section(listing: str, heading: str) -> str:
    return listing.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[tuple[str, str]]:
    """The rows of a table of two columns, without its head."""
    found = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return [(first, second) for first, second in found[1:]]


def test_the_fields_are_those_of_the_manifest(manifest: dict[str, Any], listing: str) -> None:
    expected = {key: manifest[key] for key in ("id", "name", "tagline", "version", "maintainer", "website")}
    expected["tags"] = ", ".join(manifest["tags"])
    expected["oldest Blender"] = manifest["blender_version_min"]
    expected["license of the code"] = ", ".join(one.removeprefix("SPDX:") for one in manifest["license"])
    expected |= {f"permission {name}": reason for name, reason in manifest["permissions"].items()}
    assert dict(rows(section(listing, "Fields"))) == expected


def test_the_manifest_keeps_to_what_the_platform_takes(manifest: dict[str, Any]) -> None:
    for text in (manifest["tagline"], *manifest["permissions"].values()):
        assert len(text) <= LONGEST and text[-1].isalnum(), text
    assert set(manifest["tags"]) <= TAGS
    assert "blender" not in manifest["name"].lower()


def test_what_the_extension_does_beside_its_scene_is_permitted(manifest: dict[str, Any]) -> None:
    sources = "\n".join(
        path.read_text() for room in ("operators", "scene", "panels") for path in (ROOT / room).glob("*.py")
    )
    assert ("clipboard" in manifest["permissions"]) == ("window_manager.clipboard" in sources)
    assert "files" in manifest["permissions"] and "network" not in manifest["permissions"]


def test_the_license_of_each_network_is_told(listing: str) -> None:
    told = section(listing, "Licenses")
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "weights").glob("*.json"))]
    assert cards
    assert {card["licence"].split(":")[0] for card in cards} <= set(re.findall(r"[\w.-]+[\w]", told))


def test_each_picture_is_there_and_has_a_caption(listing: str) -> None:
    pictures = [re.fullmatch(r"\[.+\]\((.+)\)", cell) for cell, _ in rows(section(listing, "Pictures"))]
    assert len(pictures) >= 4
    assert all(found is not None and (LISTING.parent / found[1]).is_file() for found in pictures)


def test_icon_and_featured_image_have_the_platforms_sizes() -> None:
    icon = (LISTING.parent / "icon.png").read_bytes()
    assert (int.from_bytes(icon[16:20]), int.from_bytes(icon[20:24])) == (256, 256)
    featured = (LISTING.parent / "featured.jpg").read_bytes()
    frame = re.search(rb"\xff[\xc0\xc2]..\x08(..)(..)", featured, re.DOTALL)
    assert frame is not None
    assert (int.from_bytes(frame[2]), int.from_bytes(frame[1])) == (1920, 1080)


def test_the_version_has_release_notes(manifest: dict[str, Any]) -> None:
    changes = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    notes = re.search(rf"^## {re.escape(manifest['version'])}\b.*?$(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    assert notes is not None and "\n- " in notes[1]
