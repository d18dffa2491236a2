# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `nsm-blender`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

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

EXTRAS = {"torch": "train", "safetensors": "train", "bpy": "bpy"}
"""Optional modules and the extra of this package that installs each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; `arguments` are those after the program's name, by default the process's.

    Returns the exit code: 0, or 1 after a mistake of the user, told in one line on stderr. Wrong arguments
    end the process with 2, as argparse does.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
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
    except KeyboardInterrupt:
        print("nsm-blender: stopped.", file=sys.stderr)
        return 130
    return 1


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
