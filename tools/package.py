# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and validate the extension's zip with Blender's own tool, taken from the installed bpy."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def blender_tool() -> Path:
    """Blender's `blender_ext.py` inside the bpy wheel. bpy itself is not imported."""
    spec = importlib.util.find_spec("bpy")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("bpy is not installed here; run `make setup` first.")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))
    if not found:
        sys.exit("The installed bpy brings no extension tool; install bpy 4.2 or newer.")
    return found[-1]


def build(folder: Path) -> Path:
    """Build the zip into `folder`, validate it and return its path. Ends the program when the tool objects."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = [sys.executable, str(blender_tool())]
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.zip")}
    subprocess.run([*tool, "build", "--source-dir", str(ROOT), "--output-dir", str(folder)], check=True)
    built = [path for path in folder.glob("*.zip") if before.get(path) != path.stat().st_mtime_ns]
    if len(built) != 1:
        sys.exit(f"Expected one new zip in {folder}, found {len(built)}.")
    subprocess.run([*tool, "validate", str(built[0])], check=True)
    return built[0]


def main() -> int:
    """Build into the folder that is given, `dist` by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the zip")
    print(build(parser.parse_args().out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
