# SPDX-License-Identifier: GPL-3.0-or-later
"""All cases, what came of each, and the table."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..bench import ONE_THREAD
from . import blender, commands
from .readers import Outcome
from .samples import Sample, samples

_BLENDER = "Blender"
"""The sort of the cases in which the extension is attacked."""
_OF_A_THOUSAND = {
    "read": 600,
    "run on damaged": 240,
    "disk full": 40,
    "stopped": 60,
    "unwritable": 40,
    "two at once": 20,
    _BLENDER: 640,
}
"""Cases of each sort for a thousand outside Blender: many where a case takes a millisecond, few where it takes two
seconds."""
_SHOWN = 160
"""Characters of what is wrong that the table shows."""


@dataclass(frozen=True)
class Result:
    """What came of a case. kind: as in the table; case: what repeats it."""

    kind: str
    case: str
    outcome: Outcome


@dataclass(frozen=True)
class _Case:
    kind: str
    name: str
    run: Callable[[Path, random.Random], Outcome]


def measure(count: int, seed: int, processes: int, only: str = "") -> list[Result]:
    """Run about `count` cases drawn from `seed`, those whose kind has `only` in its name."""
    with tempfile.TemporaryDirectory(prefix="nsm-robustness-") as made, ThreadPoolExecutor(processes) as pool:
        folder = Path(made)
        valid = samples(folder / "valid")
        share = count / 1000
        each = max(round(share * _OF_A_THOUSAND["read"] / len(valid)), 1)
        kinds = [kind for kind in valid if only in f"read {kind}"]
        batches = [pool.submit(_read, kind, each, seed, folder / f"read {kind}") for kind in kinds]
        cases = [case for case in _cases(valid, share, seed) if only in case.kind]
        running = [pool.submit(_run, case, folder / str(number), seed) for number, case in enumerate(cases)]
        attacks = []
        if only in _BLENDER and blender.why_not() is None:
            extension = blender.build(folder)
            numbers = blender.parts(round(share * _OF_A_THOUSAND[_BLENDER]))
            attacks = [pool.submit(blender.attack, extension, part, seed) for part in numbers]
        return [
            *(result for batch in batches for result in batch.result()),
            *(case.result() for case in running),
            *(Result(*row) for part in attacks for row in part.result()),
        ]


def why_not_in_blender() -> str | None:
    """What is missing for attacking the extension, or None."""
    return blender.why_not()


def _cases(valid: dict[str, Sample], share: float, seed: int) -> Iterator[_Case]:
    """The cases that take a process each."""
    clip = valid["clip"].path
    runs: list[tuple[str, str, list[str | Path]]] = [
        ("data import", "bvh", ["data", "import", valid["bvh"].path, "--out", "OUT"]),
        ("data label", "labels", ["data", "label", clip, "--read", valid["labels"].path]),
    ]
    runs += [("data inspect", kind, ["data", "inspect", valid[kind].path]) for kind in ("bvh", "amc", "clip")]
    for kind in (kind for kind in valid if kind.startswith("shot")):
        runs.append(("bake", kind, ["bake", valid[kind].path, "--model", "pfnn", "--out", "OUT"]))
    for number in range(round(share * _OF_A_THOUSAND["run on damaged"])):
        name, kind, arguments = runs[number % len(runs)]
        yield _Case(f"{name}, damaged {kind}", str(number), _on_damaged(valid[kind], arguments))
    writers = commands.writers(valid)
    failures = {"disk full": commands.disk_full, "stopped": commands.stopped, "unwritable": commands.unwritable,
                "two at once": commands.two_at_once}  # fmt: skip
    for what, fail in failures.items():
        for number in range(max(round(share * _OF_A_THOUSAND[what]), len(writers))):
            name = list(writers)[number % len(writers)]
            yield _Case(f"{name}, {what}", str(number), _failing(writers[name], fail))


def _on_damaged(sample: Sample, arguments: Sequence[str | Path]) -> Callable[[Path, random.Random], Outcome]:
    def run(folder: Path, rng: random.Random) -> Outcome:
        placed = [folder / "out.npz" if part == "OUT" else part for part in arguments]
        return commands.damaged(sample, placed, folder, rng)

    return run


def _failing(
    writer: commands.Writer, fail: Callable[[commands.Writer, Path, random.Random], Outcome]
) -> Callable[[Path, random.Random], Outcome]:
    return lambda folder, rng: fail(writer, folder, rng)


def _run(case: _Case, folder: Path, seed: int) -> Result:
    folder.mkdir()
    return Result(case.kind, case.name, case.run(folder, random.Random(f"{case.kind} {case.name} {seed}")))


def _read(kind: str, count: int, seed: int, folder: Path) -> list[Result]:
    """Damaged files of a kind, read one after the other in a child process, and one for what its end leaves over."""
    command = [sys.executable, "-m", f"{__package__}.child", kind, str(count), str(seed), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD}, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    results = [Result(f"read {kind}", str(number), Outcome(verdict, told)) for verdict, told, number in rows]
    if done.returncode or len(rows) < count:
        ended = Outcome("wrong", f"the process ended with {done.returncode}: {done.stderr[-_SHOWN:]}")
        results.append(Result(f"read {kind}", str(len(rows)), ended))
    return results


def table(results: Sequence[Result]) -> str:
    """The cases by kind, and what is wrong with those that are."""
    kinds = list(dict.fromkeys(result.kind for result in results))
    lines = [f"{'kind':40} {'cases':>6} {'well':>6} {'refused':>8} {'wrong':>6}"]
    for kind in [*kinds, "all"]:
        counts = Counter(result.outcome.verdict for result in results if kind in (result.kind, "all"))
        row = f"{kind:40} {counts.total():6} {counts['well']:6} {counts['refused']:8} {counts['wrong']:6}"
        lines.append(row)
    for result in results:
        if result.outcome.verdict == "wrong":
            told = " ".join(result.outcome.told.split())
            lines.append(f"wrong: {result.kind}, case {result.case}: {told[-_SHOWN:]}")
    return "\n".join(lines)


def figures(results: Sequence[Result]) -> dict[str, float]:
    """The numbers of cases by kind and verdict, as robustness.<kind>.<verdict>."""
    counts = Counter((result.kind, result.outcome.verdict) for result in results)
    out: dict[str, float] = {"robustness.cases": len(results)}
    out["robustness.wrong"] = sum(count for (_, verdict), count in counts.items() if verdict == "wrong")
    for (kind, verdict), count in sorted(counts.items()):
        out[f"robustness.{kind.replace(', ', '.').replace(' ', '_')}.{verdict}"] = count
    return out
