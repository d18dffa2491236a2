# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of `nsm-blender`, one module each.

A module has `add_parser(subparsers)`, which adds its arguments and sets `handler`: a function of the parsed
arguments that returns the exit code. `nsm_blender.cli` imports only the module of the command that is called.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


def count(text: str) -> int:
    """A whole number above zero, as argparse's type."""
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above zero")
    return value


def count_or_none(text: str) -> int:
    """A whole number of 0 or more, as argparse's type."""
    value = _whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is below zero")
    return value


def share(text: str) -> float:
    """A number from 0 to 1, as argparse's type."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("must be from 0 to 1")
    return value


def positive(text: str) -> float:
    """A finite number above zero, as argparse's type."""
    value = _number(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError("must be above zero")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def add_processes(parser: argparse.ArgumentParser | argparse._ArgumentGroup, verb: str) -> None:
    """Let many things be done at once on this machine. verb: what is done, such as "bake"."""
    parser.add_argument("--processes", type=count, default=2, metavar="N",
                        help=f"that {verb} at the same time (default 2)")  # fmt: skip


def add_workers(parser: argparse.ArgumentParser | argparse._ArgumentGroup, verb: str) -> None:
    """Let many things be done at once, on this machine or on a cluster. verb: what is done, such as "bake"."""
    add_processes(parser, verb)
    parser.add_argument("--cluster", metavar="ADDRESS",
                        help=f"{verb} on the workers of a Dask cluster, which find files at the same paths; the "
                        "address of its scheduler, such as tcp://host:8786")  # fmt: skip


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if value > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return value


_LARGEST = 10**9
"""Largest count that an option takes; what is larger is a slip of the hand."""
