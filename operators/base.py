# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of all operators: a user's mistake becomes one sentence, a programming error a bug report."""

from __future__ import annotations

import os
import platform
import sys
import tomllib
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..nsm_blender import UserError
from ..scene.output import write_whole
from ..scene.progress import Progress
from . import redraw

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

PACKAGE = __package__.rpartition(".")[0]
RAISE = "NSM_BLENDER_RAISE"
"""When this environment variable is set, unexpected exceptions are raised instead of reported."""


class Operation(bpy.types.Operator):
    """Base of operators, never registered itself: put the work into `run`."""

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Do the work; raise UserError for what the user should correct. Returns the operator's result."""
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Blender's entry: `run`, with errors turned into reports."""
        try:
            result = self.run(context)
            if "FINISHED" in result and not Progress.redraw_seconds:
                redraw.measure()
            return result
        except Exception as error:  # noqa: BLE001 - the one place that turns any exception into a report
            return self.failed(error)

    def failed(self, error: Exception) -> set[OperatorReturnItems]:
        """Report `error` and cancel."""
        if isinstance(error, UserError):
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if os.environ.get(RAISE):
            raise error
        text = bug_report(error)
        print(text, file=sys.stderr)
        try:
            path = user_folder("reports") / "bug_report.txt"
            write_whole(path, text)
        except (UserError, OSError, ValueError):  # Blender's own folders may be missing or full
            place = "that the system console shows"
        else:
            place = f"in {path}"
        self.report({"ERROR"}, f"Unexpected error: {error}. Please report it at {_address()} with the text {place}")
        return {"CANCELLED"}


def counted(number: int, thing: str, things: str = "") -> str:
    """A number of things in words: "1 marker", "2 markers". things: the plural where it does not end in "s"."""
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"


def user_folder(name: str) -> Path:
    """A folder of this extension that the user may write to, made when it is missing."""
    return Path(bpy.utils.extension_path_user(PACKAGE, path=name, create=True))


def bug_report(error: BaseException) -> str:
    """The exception with the versions of everything that may have caused it."""
    numpy = sys.modules.get("numpy")
    lines = [
        f"{PACKAGE.rpartition('.')[2]} {_version()}",
        f"Blender {bpy.app.version_string} ({bpy.app.build_hash.decode(errors='replace')})",
        f"Python {sys.version.split()[0]}, NumPy {getattr(numpy, '__version__', 'not imported')}",
        platform.platform(),
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(lines)


def _address() -> str:
    """Where bugs are reported: the website that the extension's manifest names."""
    manifest = Path(__file__).resolve().parents[1] / "blender_manifest.toml"
    return str(tomllib.loads(manifest.read_text(encoding="utf-8"))["website"])


def _version() -> str:
    from ..nsm_blender import __version__

    return __version__
