# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender data import | inspect | label | terrain | compose`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import FileFormatError, UserError
from ..files.reading import is_file, is_folder
from ..files.writing import check_folder, check_writable, make_folder
from ..motion.clip_file import INDEX_NAME, load_library
from ..motion.data_report import SHORTEST, doubt_lines, report, table
from ..motion.load import DEFAULTS, ImportOptions, load_motion
from ..training.episodes import label_files
from ..training.terrain.data import fit_errors
from . import compose, count, count_or_none, positive
from .importing import read, write

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

MOTION_SUFFIXES = (".bvh", ".amc", ".npz")


def add_parser(subparsers: Subparsers) -> None:
    """Add `data` and its commands to the parser of `nsm-blender`."""
    data = subparsers.add_parser("data", help="import and inspect motion capture")
    actions = data.add_subparsers(dest="action", metavar="ACTION", required=True)

    parser = actions.add_parser("import", help="convert BVH, ASF/AMC and npz files to a clip library")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".bvh, .amc, .asf (skeleton of .amc), .npz")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="library folder, made or added to")
    parser.add_argument("--fps", type=positive, default=60.0, help="frame rate of the clips (default 60)")
    _add_reading(parser)
    parser.add_argument("--subject", default="", help="the performer; used to split training from test data")
    parser.add_argument("--tags", nargs="*", default=[], metavar="TAG", help="what the clips show, such as walk turn")
    parser.add_argument("--licence", default="", help="licence of the recordings, kept with each clip")
    parser.set_defaults(handler=_import)

    parser = actions.add_parser("inspect", help="show length, gaits, speeds and doubtful frames")
    parser.add_argument("path", type=Path, metavar="FILE_OR_DIR", help="a motion file, or a folder of them")
    _add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(handler=_inspect)

    parser = actions.add_parser(
        "label", help="write contacts, phase, gait, actions to correct, or check corrected ones"
    )
    parser.add_argument("clip", type=Path, metavar="CLIP", help="a motion file")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", type=Path, metavar="FILE.json", help="write the labels")
    target.add_argument("--read", type=Path, metavar="FILE.json", help="check corrected labels")
    _add_reading(parser)
    parser.set_defaults(handler=_label)

    parser = actions.add_parser("terrain", help="fit ground to locomotion, and tell how well it fits")
    parser.add_argument("data", type=Path, metavar="DIR", help="folder with index.json and clips/")
    parser.add_argument("--patches", type=count, default=1500, metavar="N", help="patches to choose from (1500)")
    parser.add_argument("--seed", type=count_or_none, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(handler=_terrain)

    compose.add_arguments(actions.add_parser("compose", help="compose episodes from recordings, to train the NSM on"))


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--up", choices=("auto", "y", "z"), default="auto", help="the axis that is up in the file")
    parser.add_argument("--scale", type=_scale, default=None, metavar="auto|FLOAT", help="meters per unit of the file")
    parser.add_argument("--asf", type=Path, metavar="FILE.asf", help="skeleton of .amc files")
    parser.add_argument("--amc-fps", type=positive, default=DEFAULTS.amc_fps, help="frames a second of .amc files")


def _scale(text: str) -> float | None:
    return None if text == "auto" else positive(text)


def _options(arguments: argparse.Namespace, skeletons: Sequence[Path] = ()) -> ImportOptions:
    chosen = (arguments.asf,) if arguments.asf else tuple(skeletons)
    for path in chosen:
        if not is_file(path):
            raise FileFormatError(f"{path}: there is no such file")
    return ImportOptions(arguments.up, arguments.scale, chosen, arguments.amc_fps)


def _import(arguments: argparse.Namespace) -> int:
    """Read everything first, so that a bad file leaves the library as it was."""
    check_folder(arguments.out)
    skeletons = [p for p in arguments.files if p.suffix.lower() == ".asf"]
    options = _options(arguments, skeletons)
    given = {"subject": arguments.subject, "tags": list(arguments.tags), "licence": arguments.licence}
    sources = [read(path, options, arguments.fps, given) for path in arguments.files if path not in skeletons]
    if not sources:
        raise UserError("there is no motion among the files; an .asf file holds only a skeleton")
    write(sources, arguments.out)
    return 0


def _inspect(arguments: argparse.Namespace) -> int:
    options = _options(arguments)
    reports = [report(load_motion(path, options)) for path in _motion_files(arguments.path)]
    if arguments.json:
        document = [r.as_dict() for r in reports]
        print(json.dumps(document if is_folder(arguments.path) else document[0], indent=1))
        return 0
    print(table(reports))
    for r in reports:
        if r.doubts:
            print("\n".join([f"\n{r.name}, doubtful:", *doubt_lines(r.doubts)]))
    return 0


def _terrain(arguments: argparse.Namespace) -> int:
    errors = fit_errors(arguments.data, arguments.patches, arguments.seed)
    if arguments.json:
        print(json.dumps(errors, indent=1))
        return 0
    for name, figures in errors.items():
        print(f"{name} ground, {figures['fits']:.0f} fits; cm, median and 95th percentile:")
        for row, meaning in _FIT_ROWS.items():
            print(f"  {meaning:34s}{figures[f'{row}_cm.median']:8.2f}{figures[f'{row}_cm.p95']:8.2f}")
    return 0


_FIT_ROWS = {
    "fit": "error of the patch before refining",
    "stand": "feet in contact from the ground",
    "inside": "deepest lifted foot in the ground",
}
"""What `data terrain` tells of fits, see `training.terrain.fitting.Errors`."""


def _motion_files(path: Path) -> list[Path]:
    """The file itself; of a library its clips, in order; of another folder all motion files in it."""
    if not is_folder(path):
        return [path]
    if is_file(path / INDEX_NAME):
        files = [entry.path for entry in load_library(path)]
    else:
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in MOTION_SUFFIXES)
    if not files:
        raise FileFormatError(f"{path}: the folder holds no motion")
    return files


def _label(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        check_writable(arguments.out)
    clip = load_motion(arguments.clip, _options(arguments))
    if arguments.read:
        print(f"{arguments.read}: valid labels of {label_files.check(arguments.read, clip)} frames")
        return 0
    if len(clip) < SHORTEST:
        raise UserError(f"{arguments.clip}: {len(clip)} frames are too few to label, at least {SHORTEST} are needed")
    found = label_files.automatic(clip, arguments.clip)
    make_folder(arguments.out.parent)
    found.write(arguments.out)
    print(f"{arguments.out}: {found.summary}")
    for line in doubt_lines(found.labels.doubts):
        print(line)
    return 0
