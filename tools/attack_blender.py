# SPDX-License-Identifier: GPL-3.0-or-later
"""Attack the installed extension in bpy: take away, rename and replace what its jobs work on, slice after slice, and
give it odd objects, rigs and frame ranges. Right is all done, or refused in words with nothing left behind.

Arguments: the extension's zip, the first case, how many, and a seed. Prints a JSON list a case: kind, number, verdict,
what was told. Called by `nsm-blender evaluate robustness`, in a process of its own.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

from attack_changes import ATTACKS
from attack_odd import odd_object, odd_rig, odd_time
from attack_scenes import JOBS, fresh, names
from attack_verdicts import refusal, timed

MEMORY = 1 << 20
"""Kilobytes by which the process may grow in a case."""
Case = Callable[[random.Random], tuple[str, str, str]]
_SLICES: dict[str, int] = {}
"""Slices of each job, once it was run to its end."""


def slices_of(job: str) -> int:
    """How many slices a job has at least; measuring takes as many as there is time for."""
    if job not in _SLICES:
        fresh()
        work, count = JOBS[job](), 0
        while not work.done:
            work.step()
            count += 1
        _SLICES[job] = max(count - 1, 1)
    return _SLICES[job]


def attacked(job: str, attack: str) -> Case:
    """A job during which something happens, at any slice."""

    def case(rng: random.Random) -> tuple[str, str, str]:
        kind = f"{job}, {attack}"
        whole = slices_of(job)
        fresh()
        work = JOBS[job]()
        before = names()
        start = time.process_time()
        try:
            for _ in range(rng.randrange(whole)):
                work.step()
            mine = names()
            ATTACKS[attack](rng)
            # What the attack itself makes or deletes is not the job's.
            now = names()
            for key, block in now.items():
                before[key] |= block - mine[key]
            work.run()
        except Exception as error:  # noqa: BLE001 - judged
            return (kind, *refusal(error, before, start))
        return (kind, *timed(start))

    return case


def cases() -> list[tuple[str, Case]]:
    """The sorts of cases in turn."""
    while_working = [(f"{job}, {attack}", attacked(job, attack)) for job in JOBS for attack in ATTACKS]
    odd: list[tuple[str, Case]] = [("odd object", odd_object), ("odd rig", odd_rig), ("odd time", odd_time)]
    return [*while_working, *(16 * odd)]


def main() -> None:
    """Run the cases, and leave at once: bpy may hang at exit when something went wrong."""
    extension, first, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    profile = tempfile.mkdtemp(prefix="nsm-profile-")
    os.environ["BLENDER_USER_RESOURCES"] = profile  # bpy reads it when it is imported
    os.environ["NSM_BLENDER_RAISE"] = "1"
    # Blender prints to the same place; the rows go to where it was at first.
    rows = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import bpy

    bpy.ops.extensions.package_install_files(
        filepath=extension, repo="user_default", enable_on_install=True, overwrite=True
    )
    sorts = cases()
    for number in range(first, first + count):
        name, case = sorts[number % len(sorts)]
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            kind, verdict, told = case(random.Random(f"{seed} {number}"))
        except Exception as error:  # noqa: BLE001 - in the making of the scene
            kind, verdict, told = name, "wrong", "".join(traceback.format_exception(error))[-800:]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size
        if grown > MEMORY:
            verdict, told = "wrong", f"took {grown >> 10} MB"
        print(json.dumps([kind, number, verdict, told]), file=rows, flush=True)
    shutil.rmtree(profile, ignore_errors=True)
    rows.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
