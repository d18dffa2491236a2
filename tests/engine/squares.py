# SPDX-License-Identifier: GPL-3.0-or-later
"""Work for other processes. They import this file, and so no torch with the tests."""

from __future__ import annotations

import os

from nsm_blender.errors import UserError


def squared(number: int) -> tuple[int, int]:
    """The square, and the process that knows it."""
    if number < 0:
        raise UserError(f"{number} is too little.")
    return number**2, os.getpid()
