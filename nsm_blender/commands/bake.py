# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender bake`: from shot files to motion files, without Blender, one after the other or on a farm."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import Motion, Shot, UserError, bake, synthesize
from ..baking.nsm import Model
from ..files.reading import is_folder
from ..files.writing import check_folder, check_writable, make_folder
from ..workers import each
from . import add_workers

if TYPE_CHECKING:
    from . import Subparsers

_MOTION = ".npz"
"""Ending of the name of a motion file."""


@dataclass(frozen=True)
class _Network:
    """What bakes. model: as of the command's option. weights: a file in place of the shipped one."""

    model: Model | Literal["manifold"]
    weights: Path | None


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
    shots: list[Path] = arguments.shots
    out: Path = arguments.out
    if arguments.model == "manifold" and arguments.weights is not None:
        raise UserError("--weights is for --model nsm and pfnn; the manifold's networks are the shipped ones.")
    network = _Network(arguments.model, arguments.weights)
    if len(shots) > 1 or is_folder(out):
        _bake_all(shots, out, network, arguments)
        return 0
    if out.suffix != _MOTION:
        raise UserError(f"{out}: the motion file must end in {_MOTION}.")
    if not is_folder(out.parent):
        raise UserError(f"{out.parent}: there is no such folder to write into.")
    check_writable(out)
    motion = _baked(Shot.load(shots[0]), network, show=True)
    motion.save(out)
    print(_told(out, motion))
    return 0


def _bake_all(shots: list[Path], folder: Path, network: _Network, arguments: argparse.Namespace) -> None:
    """Bake many shots into a folder. Raises UserError that names those that were not baked."""
    name, times = Counter(shot.stem for shot in shots).most_common(1)[0]
    if times > 1:
        raise UserError(f"{times} of the shots are called {name}, and would be the same motion file; rename them.")
    check_folder(folder)
    make_folder(folder)
    # Workers elsewhere have another working folder.
    weights = None if network.weights is None else network.weights.absolute()
    work = partial(_bake_into, folder.absolute(), _Network(network.model, weights))
    failed = 0
    for _, (text, well) in each(work, [shot.absolute() for shot in shots], arguments.processes, arguments.cluster):
        print(text, flush=True, file=sys.stdout if well else sys.stderr)
        failed += not well
    if failed:
        raise UserError(f"{failed} of {len(shots)} shots were not baked; the reasons are told above.")


def _bake_into(folder: Path, network: _Network, shot: Path) -> tuple[str, bool]:
    """Bake a shot into a folder; what to tell of it, and whether it was baked."""
    out = folder / (shot.stem + _MOTION)
    try:
        check_writable(out)
        motion = _baked(Shot.load(shot), network)
        motion.save(out)
    except UserError as error:
        told = str(error)
        return told if str(shot) in told else f"{shot}: {told}", False
    return _told(out, motion), True


def _baked(shot: Shot, network: _Network, show: bool = False) -> Motion:
    progress = _show if show else None
    if network.model == "manifold":
        return synthesize(shot, progress=progress)
    return bake(shot, network.model, weights=network.weights, progress=progress)


def _told(out: Path, motion: Motion) -> str:
    """What was written, what became of each action key, and what was not kept."""
    keys = enumerate(motion.meta.get("keys", []), start=1)
    lines = [f"key {number} ({key['action']}): {_outcome(key)}" for number, key in keys]
    return "\n".join([f"{out}: {len(motion)} frames at {motion.fps:g} fps", *lines, *motion.meta.get("notes", [])])


def _outcome(key: dict[str, Any]) -> str:
    """What became of an action key, in words."""
    off = [f"{key[name]:.1f} {unit}" for name, unit in (("error_cm", "cm"), ("error_deg", "degrees")) if key[name]]
    words = key["trouble"] or f"done at frame {key['done']}"
    return f"{words} ({', '.join(off)} off)" if off else words


def _show(progress: float) -> None:
    """Progress in percent, on terminals only."""
    if sys.stderr.isatty():
        print(f"\r{progress:4.0%}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
