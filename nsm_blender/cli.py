# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `nsm-blender`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from . import __version__
from .errors import UserError

COMMANDS = {
    "demo": "bake the demo shot with the installed extension and export it",
    "bake": "bake a shot file to a motion file, without Blender",
    "evaluate": "measure the shipped weights by the papers' protocols",
    "bench": "measure the speed of the parts and of a whole bake",
    "train": "train a model from a data folder",
    "data": "import and inspect motion capture",
}

EXTRAS = {"torch": "train", "safetensors": "train", "bpy": "bpy", "distributed": "cluster"}
"""Optional modules and the extra of this package that installs each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; `arguments` are those after the program's name, by default the process's.

    Returns the exit code: 0, or 1 after a mistake of the user, told in one line on stderr. Wrong arguments
    end the process with 2, as argparse does.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    before = signal.signal(signal.SIGTERM, _stop) if _is_main_thread() else None
    try:
        parsed = _parser(arguments).parse_args(arguments)
        code: int = parsed.handler(parsed)
        return code
    except UserError as error:
        print(f"nsm-blender: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        print(
            f"nsm-blender: this command needs {error.name}; install it with pip install 'nsm-blender[{extra}]'.",
            file=sys.stderr,
        )
    except BrokenPipeError:  # what reads our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("nsm-blender: stopped.", file=sys.stderr)
        return 130
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    return 1


def _is_main_thread() -> bool:
    """Whether signals can be handled here."""
    return threading.current_thread() is threading.main_thread()


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """End on SIGTERM as on Ctrl+C, so that half-written temporary files are removed."""
    print("nsm-blender: stopped.", file=sys.stderr)
    raise SystemExit(128 + number)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, complete for the command that is called; the others are only listed."""
    parser = argparse.ArgumentParser(prog="nsm-blender", description="Neural character animation, without Blender.")
    parser.add_argument("--version", action="version", version=f"nsm-blender {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name == called:
            importlib.import_module(f".commands.{name}", __package__).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser
