# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate rigs`: the installed extension on test rigs of all conventions, in a child process with bpy.

The motions are made here, by the engine; the child binds each rig, bakes them, and looks at what Blender shows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import UserError, evaluate
from ...evaluation import rig_imports
from ...evaluation.bench import ONE_THREAD
from ...evaluation.rig_figures import BARS
from ...evaluation.rig_motions import FRAMES, motions
from ...evaluation.rigs import ANEW, ODD, PROPORTIONED, RECIPES
from .results import Figures, Keep, Told

SUMMARY = "binding and retargeting by the installed extension, on test rigs of all conventions"

_FIRST = ("Rigify metarig", "Rigify generated, FK", "Rigify generated, IK", "Mixamo", "Unreal 5", "MakeHuman", "VRM",
          "cgspeed", "LaFAN", "A-pose with random rolls", "nonsense names", "child", "giant at 0.01")  # fmt: skip
RIGS = (*_FIRST, *PROPORTIONED, *(name for name in RECIPES if name not in _FIRST), *ODD, *ANEW)
"""The test rigs, by their names."""
COLUMNS = (
    ("joints_wrong", "wrong"),
    ("joints_doubted", "doubted"),
    ("limb_deg_mean", "limbs"),
    ("limb_deg_max", "max"),
    ("feet_cm_max", "feet"),
    ("soles_cm_max", "soles"),
    ("hands_cm_max", "hands"),
    ("slide_added_cm_per_s", "slide"),
    ("round_trip_cm_max", "back cm"),
    ("round_trip_deg_max", "deg"),
    ("applied_cm_max", "applied"),
    (f"seconds_{FRAMES}", "seconds"),
)
"""Columns of the table: the figure, of which the worst over all motions is shown, and its heading."""
_IMPORTED = (
    ("imported_hips_cm_max", "hips cm"),
    ("imported_limb_deg_max", "limbs"),
    ("imported_trunk_deg_max", "trunk"),
)
"""Columns of the table of imported motions."""
_CLONE = Path(__file__).resolve().parents[3]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this system."""
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="also draw a contact sheet of each bake")
    parser.add_argument("--rig", action="append", default=[], metavar="NAME",
                        help="only those with this in their name; may be repeated")  # fmt: skip
    parser.add_argument("--bodies", action="store_true",
                        help="instead, meshes in the floor, in things and in themselves, without Blender")  # fmt: skip


def measure(args: argparse.Namespace, _: Keep) -> tuple[Figures, Told]:
    """The figures of the rigs that were asked for, and what they were measured on. Prints a table. Raises UserError
    when something that is needed is missing."""
    if args.bodies:
        return evaluate("bodies", args.rig or None, log=print), {}
    sheets: Path | None = args.sheets
    names = [name for name in RIGS if not args.rig or any(text.lower() in name.lower() for text in args.rig)]
    if not names:
        raise UserError(f"There is no such test rig; there are: {'; '.join(RIGS)}.")
    if not (_CLONE / "tools" / "rigs_session.py").is_file():
        raise UserError("Rigs are evaluated with the extension's source; run it from a clone, installed with pip -e.")
    if importlib.util.find_spec("bpy") is None:
        raise ModuleNotFoundError("No module named 'bpy'", name="bpy")
    if sheets is not None:
        sheets.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="nsm-rigs-") as folder:
        figures = _measured_in_blender(Path(folder), names, sheets)
    meta: Told = figures.pop("meta")
    print(table(names, figures))
    if not args.rig:
        imported = {f"rigs.imports.{name}": value for name, value in rig_imports.figures(motions()["moves"]).items()}
        print(imports_table(imported))
        figures |= imported
    return figures, meta


def table(names: Sequence[str], figures: Figures) -> str:
    """The worst figures of each rig for people; an exclamation mark follows what is over its bar."""
    lines = [f"{'':60}" + "".join(f"{heading:>9} " for _, heading in COLUMNS)]
    lines.append(f"{'bar':60}" + "".join(f"{BARS.get(figure, 0):9.2f} " for figure, _ in COLUMNS))
    for name in names:
        line = f"{name:60}"
        for figure, _ in COLUMNS:
            value = worst(figures, name, figure)
            shown = f"{value:9.2f}" if value == value else f"{'-':>9}"
            line += f"{shown}{'!' if value > BARS.get(figure, float('inf')) else ' '}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def imports_table(figures: Figures) -> str:
    """The worst figures of each convention of motion files over all clips and sizes of performers."""
    lines = [f"{'imported motions, worst of all clips':44}" + "".join(f"{heading:>9} " for _, heading in _IMPORTED)]
    lines.append(f"{'bar':44}" + "".join(f"{BARS[figure]:9.2f} " for figure, _ in _IMPORTED))
    for name in (*rig_imports.DIALECTS, *rig_imports.CLIP_FILES):
        line = f"{name:44}"
        for figure, _ in _IMPORTED:
            begins, ends = f"rigs.imports.{name}.", f".{figure}"
            value = max(v for k, v in figures.items() if k.startswith(begins) and k.endswith(ends))
            line += f"{value:9.2f}{'!' if value > BARS[figure] else ' '}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def worst(figures: Figures, name: str, figure: str) -> float:
    """A rig's largest value of a figure over all motions; not a number where it has none."""
    beginning, end = f"rigs.{row(name)}.", f".{figure}"
    return max((v for k, v in figures.items() if k.startswith(beginning) and k.endswith(end)), default=float("nan"))


def row(name: str) -> str:
    """A rig's name in the names of figures."""
    return re.sub(r"\W+", "_", name.lower())


def _measured_in_blender(folder: Path, names: Sequence[str], sheets: Path | None) -> dict[str, Any]:
    """All figures by name, and "meta"."""
    made = folder / "motions"
    made.mkdir()
    for name, motion in motions().items():
        motion.save(made / f"{name}.npz")
    _call("package.py", "--out", str(folder))
    (extension,) = folder.glob("*.zip")
    out = folder / "figures.json"
    environment = {**os.environ, **ONE_THREAD, "BLENDER_USER_RESOURCES": str(folder / "profile")}
    command = [
        str(extension),
        str(made),
        str(out),
        "|".join(names),
        *([] if sheets is None else [str(sheets.resolve())]),
    ]
    session = [sys.executable, str(_CLONE / "tools" / "rigs_session.py"), *command]
    code = subprocess.run(session, env=environment, check=False).returncode
    if code or not out.is_file():
        raise UserError(f"The evaluation stopped with exit code {code}; the last lines above say where.")
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


def _call(tool: str, *arguments: str) -> None:
    command = [sys.executable, str(_CLONE / "tools" / tool), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"The extension could not be built:\n{done.stdout}{done.stderr}")
