# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender demo`: the whole way from the source to a walking character in an FBX, as a user would go it.
Then the same walk in another style with a hand on a rail, a crowd, errands in a furnished room, and a walk over stairs.

Builds the extension, and in a child process with bpy installs it in a private Blender profile, bakes the demo
shot through its operators, exports and looks at it. The engine itself stays without bpy.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .. import UserError
from ..paths import weights_folder

if TYPE_CHECKING:
    from . import Subparsers

RESULTS = (
    "demo.fbx",
    "demo.blend",
    "shot.json",
    "report.json",
    "preview.png",
    "preview_style.png",
    "report_style.json",
    "crowd.png",
    "room.blend",
    "shot_room.json",
    "report_room.json",
    "preview_room.png",
    "ground.blend",
    "shot_ground.json",
    "report_ground.json",
    "preview_ground.png",
    "preview_ground_keys.png",
)
"""What the demo leaves in its folder."""
_NEEDED = ("pfnn", "autoencoder", "styles", "footsteps", "locomotion")
_CLONE = Path(__file__).resolve().parents[2]


def add_parser(subparsers: Subparsers) -> None:
    """Add `demo` and its arguments."""
    parser = subparsers.add_parser("demo", help="bake the demo shot with the installed extension and export it")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument("--zip", type=Path, metavar="FILE", help="an extension that is built already")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the demo. Raises UserError when something that it needs is missing or a step fails."""
    session = _CLONE / "tools" / "demo_session.py"
    if not session.is_file():
        raise UserError("The demo needs the extension's source; run it from a clone, installed with pip install -e.")
    if importlib.util.find_spec("bpy") is None:
        raise ModuleNotFoundError("No module named 'bpy'", name="bpy")
    for name in _NEEDED:
        weights = weights_folder() / f"{name}.safetensors"
        if not weights.is_file():
            raise UserError(f"{weights} is missing; train it with nsm-blender train {name}.")
    out: Path = arguments.out.resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in RESULTS:
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}).") from error
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="nsm-demo-") as folder:
        extension = _zip(arguments.zip, Path(folder))
        environment = {**os.environ, "BLENDER_USER_RESOURCES": str(Path(folder) / "profile")}
        # -P: what lies beside the script is not for import
        command = [sys.executable, "-P", str(session), str(extension), str(out)]
        code = subprocess.run(command, env=environment, check=False).returncode
    if code:
        raise UserError(f"The demo stopped with exit code {code}; the last lines above say where.")
    missing = [name for name in RESULTS if not (out / name).is_file()]
    if missing:
        raise UserError(f"The demo ended without writing {', '.join(missing)}.")
    print(f"{out}: done in {time.perf_counter() - start:.1f} s")
    return 0


def _zip(given: Path | None, folder: Path) -> Path:
    """The extension's zip: the one that is given, or built from the clone into `folder`."""
    if given is not None:
        if not given.is_file():
            raise UserError(f"{given}: there is no such file.")
        return given.resolve()
    start = time.perf_counter()
    command = [sys.executable, str(_CLONE / "tools" / "package.py"), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"The extension could not be built:\n{done.stdout}{done.stderr}")
    (built,) = folder.glob("*.zip")
    print(
        f"{time.perf_counter() - start:7.2f} s  build the extension ({built.stat().st_size / 1e6:.1f} MB)", flush=True
    )
    return built
