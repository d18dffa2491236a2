# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of `nsm-blender`, one module each.

A module has `add_parser(subparsers)`, which adds its arguments and sets `handler`: a function of the parsed
arguments that returns the exit code. `nsm_blender.cli` imports only the module of the command that is called.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
