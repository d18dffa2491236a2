# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender bake`: from shot files to motion files, without Blender, one alone or many at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import FileBake, Motion, Shot, UserError, bake, bake_files, synthesize
from ..files.reading import is_folder
from ..files.writing import check_writable
from . import add_workers

if TYPE_CHECKING:
    from . import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add `bake` and its arguments."""
    parser = subparsers.add_parser("bake", help="bake shot files to motion files, without Blender")
    parser.add_argument("shots", type=Path, nargs="+", metavar="SHOT.json", help="shots, as the extension saves them")
    parser.add_argument("--out", type=Path, required=True, metavar="MOTION.npz",
                        help="the motion file to write; of many shots the folder, in which each motion file has the "
                        "name of its shot")  # fmt: skip
    parser.add_argument("--model", choices=("auto", "nsm", "pfnn", "manifold"), default="auto",
                        help="the network (manifold: paths only, nsm: action keys only; default: nsm where a key "
                        "asks for more than walking, else pfnn)")  # fmt: skip
    parser.add_argument("--weights", type=Path, metavar="FILE", help="nsm, pfnn: other weights than the shipped ones")
    add_workers(parser, "bake")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Bake and save. Raises UserError when a shot or the destination is at fault: with nothing written, or where there
    are many shots, once all others are baked."""
    out: Path = arguments.out
    if arguments.model == "manifold" and arguments.weights is not None:
        raise UserError("--weights is for --model nsm and pfnn; the manifold's networks are the shipped ones.")
    if out.suffix == ".npz" and is_folder(out):
        raise UserError(f"{out} is a folder, though its name is a motion file's; name another file, or another folder.")
    if len(arguments.shots) > 1 or is_folder(out):
        return _run_many(arguments)
    if out.suffix != ".npz":
        raise UserError(f"{out}: the motion file must end in .npz.")
    if not is_folder(out.parent):
        raise UserError(f"{out.parent}: there is no such folder to write into.")
    check_writable(out)
    motion = _baked(Shot.load(arguments.shots[0]), arguments)
    motion.save(out)
    print(_told(FileBake(arguments.shots[0], out, "", len(motion), motion.fps, motion.meta)))
    return 0


def _run_many(arguments: argparse.Namespace) -> int:
    """Bake many shots into a folder. Raises UserError when some were not baked."""
    failed = 0
    for found in bake_files(
        arguments.shots,
        arguments.out,
        arguments.model,
        weights=arguments.weights,
        processes=arguments.processes,
        cluster=arguments.cluster,
    ):
        if not found.error:
            print(_told(found), flush=True)
            continue
        failed += 1
        told = found.error if str(found.shot) in found.error else f"{found.shot}: {found.error}"
        print(told, file=sys.stderr, flush=True)
    if failed:
        raise UserError(f"{failed} of {len(arguments.shots)} shots were not baked; the reasons are told above.")
    return 0


def _baked(shot: Shot, arguments: argparse.Namespace) -> Motion:
    if arguments.model == "manifold":
        return synthesize(shot, progress=_show)
    return bake(shot, arguments.model, weights=arguments.weights, progress=_show)


def _told(found: FileBake) -> str:
    """What was written, what became of each action key, and what was not kept."""
    keys = enumerate(found.meta.get("keys", []), start=1)
    lines = [f"key {number} ({key['action']}): {_outcome(key)}" for number, key in keys]
    return "\n".join([f"{found.out}: {found.frames} frames at {found.fps:g} fps", *lines, *found.meta.get("notes", [])])


def _outcome(key: dict[str, Any]) -> str:
    """What became of an action key, in words."""
    off = [f"{key[name]:.1f} {unit}" for name, unit in (("error_cm", "cm"), ("error_deg", "degrees")) if key[name]]
    words = key["trouble"] or f"done at frame {key['done']}"
    return f"{words} ({', '.join(off)} off)" if off else words


def _show(progress: float) -> None:
    """Progress in percent, on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{progress:4.0%}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
