# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files and their reader in a process of their own, with a limit of memory and of processor time.

python -m nsm_blender.evaluation.robustness.child KIND COUNT SEED FOLDER
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from .readers import MEMORY, SECONDS, Outcome, read_damaged
from .samples import samples


def read(kind: str, count: int, seed: int, folder: Path) -> None:
    """Print the outcome of each of `count` damaged files of a kind as a line of JSON."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _late)
    sample = samples(folder)[kind]
    for number in range(count):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = read_damaged(sample, random.Random(f"{kind} {seed} {number}"))
        except _LateError:
            outcome = Outcome("wrong", f"took more than {SECONDS:.0f} s")
        except MemoryError:
            outcome = Outcome("wrong", f"took more than {MEMORY >> 20} MB")
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([outcome.verdict, outcome.told, number]), flush=True)


class _LateError(BaseException):
    """The time of a case is over; not an exception that a reader could catch."""


def _late(_: int, __: FrameType | None) -> NoReturn:
    raise _LateError


if __name__ == "__main__":
    read(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
