# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files read in this process: well, or refused in words that name the file; anything else is wrong."""

from __future__ import annotations

import random
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from .mutations import mutated
from .samples import Sample

SECONDS = 10.0
"""Seconds of processor time that reading a file, or a command, may take."""
MEMORY = 1 << 30
"""Bytes that a process may take."""
LONGEST_MESSAGE = 600
"""Characters of a refusal at most, the path of the file among them."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case. verdict: "well", "refused" or "wrong". told: the refusal, or what is wrong."""

    verdict: str
    told: str = ""


def read_damaged(sample: Sample, rng: random.Random) -> Outcome:
    """Damage a sample's file, read it, and put it back."""
    before = sample.path.read_bytes()
    try:
        sample.path.write_bytes(mutated(before, sample.form, rng))
        return read(sample)
    finally:
        sample.path.write_bytes(before)


def read(sample: Sample) -> Outcome:
    """What comes of reading a sample's file as it is."""
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers may overflow on their way to a refusal
            sample.read(sample.path)
    except UserError as error:
        return _refused(str(error), sample.path, time.process_time() - started)
    except Exception as error:  # noqa: BLE001 - whatever else is raised is the finding
        return Outcome("wrong", f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE])
    seconds = time.process_time() - started
    return Outcome("well") if seconds < SECONDS else Outcome("wrong", f"took {seconds:.0f} s")


def _refused(text: str, path: Path, seconds: float) -> Outcome:
    """Whether a refusal names the file, or one beside it or its folder, is one short sentence, and comes in time."""
    if seconds > SECONDS:
        return Outcome("wrong", f"took {seconds:.0f} s")
    if not any(name in text for name in (path.name, path.stem, str(path.parent))):
        return Outcome("wrong", f"does not name the file: {text}"[:LONGEST_MESSAGE])
    if "\n" in text or len(text) > LONGEST_MESSAGE:
        return Outcome("wrong", f"is not one sentence: {text}"[:LONGEST_MESSAGE])
    return Outcome("refused", text)
