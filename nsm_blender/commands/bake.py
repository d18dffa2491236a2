# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender bake`: from a shot file to a motion file, without Blender."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import Motion, Shot, UserError, bake, synthesize
from ..files.reading import is_folder
from ..files.writing import check_writable

if TYPE_CHECKING:
    from . import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add `bake` and its arguments."""
    parser = subparsers.add_parser("bake", help="bake a shot file to a motion file, without Blender")
    parser.add_argument("shot", type=Path, metavar="SHOT.json", help="a shot, as the extension saves it")
    parser.add_argument("--out", type=Path, required=True, metavar="MOTION.npz", help="the motion file to write")
    parser.add_argument("--model", choices=("auto", "nsm", "pfnn", "manifold"), default="auto",
                        help="the network (manifold: paths only, nsm: action keys only; default: nsm where a key "
                        "asks for more than walking, else pfnn)")  # fmt: skip
    parser.add_argument("--weights", type=Path, metavar="FILE", help="nsm, pfnn: other weights than the shipped ones")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Bake and save. Raises UserError, with nothing written, when the shot or the destination is at fault."""
    out: Path = arguments.out
    if out.suffix != ".npz":
        raise UserError(f"{out}: the motion file must end in .npz.")
    if not is_folder(out.parent):
        raise UserError(f"{out.parent}: there is no such folder to write into.")
    check_writable(out)
    shot = Shot.load(arguments.shot)
    motion = _baked(shot, arguments)
    motion.save(out)
    print(f"{out}: {len(motion)} frames at {motion.fps:g} fps")
    for number, key in enumerate(motion.meta.get("keys", []), start=1):
        print(f"key {number} ({key['action']}): {_outcome(key)}")
    for note in motion.meta.get("notes", []):
        print(note)
    return 0


def _baked(shot: Shot, arguments: argparse.Namespace) -> Motion:
    if arguments.model != "manifold":
        return bake(shot, arguments.model, weights=arguments.weights, progress=_show)
    if arguments.weights is not None:
        raise UserError("--weights is for --model nsm and pfnn; the manifold's networks are the shipped ones.")
    return synthesize(shot, progress=_show)


def _outcome(key: dict[str, Any]) -> str:
    """What became of an action key, in words."""
    off = [f"{key[name]:.1f} {unit}" for name, unit in (("error_cm", "cm"), ("error_deg", "degrees")) if key[name]]
    words = key["trouble"] or f"done at frame {key['done']}"
    return f"{words} ({', '.join(off)} off)" if off else words


def _show(progress: float) -> None:
    """Progress in percent, on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{progress:4.0%}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
