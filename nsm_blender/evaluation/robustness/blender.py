# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension attacked in Blender: tools/attack_blender.py in child processes with private profiles."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from ..bench import ONE_THREAD
from .readers import Outcome

_TOOLS = Path(__file__).resolve().parents[3] / "tools"
"""Folder of the programs that build and attack the extension, which only a clone has."""
_TOGETHER = 50
"""Cases of one process, which starts in two seconds."""
_LONGEST = 900.0
"""Seconds after which a process is ended: a case takes a quarter of a second, and 10 at most."""


def why_not() -> str | None:
    """What is missing for attacking the extension, or None."""
    if importlib.util.find_spec("bpy") is None:
        return "bpy is not installed (pip install 'nsm-blender[bpy]')"
    if not (_TOOLS / "attack_blender.py").is_file():
        return "this is not a clone of the repository, which holds the extension's sources"
    return None


def build(folder: Path) -> Path:
    """The extension's zip, made in a folder."""
    command = [sys.executable, str(_TOOLS / "package.py"), "--out", str(folder)]
    subprocess.run(command, capture_output=True, check=True)
    (built,) = folder.glob("*.zip")
    return built


def parts(count: int) -> list[range]:
    """Numbers of the cases of each process."""
    return [range(first, min(first + _TOGETHER, count)) for first in range(0, count, _TOGETHER)]


def attack(extension: Path, numbers: range, seed: int) -> list[tuple[str, str, Outcome]]:
    """Kind, number and outcome of each case. Where Blender itself dies, the case at fault is wrong, and those after it
    are run by another process."""
    out: list[tuple[str, str, Outcome]] = []
    while len(out) < len(numbers):
        first = numbers.start + len(out)
        tool = [sys.executable, str(_TOOLS / "attack_blender.py"), str(extension)]
        arguments = [str(first), str(numbers.stop - first), str(seed)]
        try:
            done = subprocess.run(
                [*tool, *arguments],
                capture_output=True,
                env={**os.environ, **ONE_THREAD},
                timeout=_LONGEST,
                check=False,
            )
            printed, ended = done.stdout, f"ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}"
        except subprocess.TimeoutExpired as late:
            printed, ended = late.stdout or b"", f"hung for {_LONGEST:.0f} s"
        rows = [json.loads(line) for line in printed.decode().splitlines()]
        out += [(f"Blender: {kind}", str(number), Outcome(verdict, told)) for kind, number, verdict, told in rows]
        if len(out) < len(numbers):
            out.append(("Blender: process", str(numbers.start + len(out)), Outcome("wrong", f"Blender {ended}")))
    return out
