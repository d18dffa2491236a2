# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender` in child processes: on damaged files, with places that cannot be written, stopped at any moment, and
two at once. Old files are kept, new ones are whole, and refusals are one sentence."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from ...motion.clip_file import load_library
from ...motion.label_file import read_document
from ...motion.motion import Motion
from ..bench import ONE_THREAD
from .mutations import mutated
from .readers import LONGEST_MESSAGE, MEMORY, SECONDS, Outcome
from .samples import Sample

_LIMITED = """
import os, resource, sys
memory, seconds, largest, package, *arguments = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
if int(largest):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), int(largest)))
os.execv(sys.executable, [sys.executable, "-m", package, *arguments])
"""
"""Program that becomes the command line once the limits of its memory, processor time and files are set."""
_OLD = b"what was here before"
"""Content of a file that a command shall replace."""
_STOPPED = {-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM}
"""Exit codes of a process that a signal has ended."""
_REFUSED = {1, 2}
"""Exit codes of a refusal: by the command, by argparse."""
_HANGS = 12 * SECONDS
"""Seconds after which a command hangs that has not used up its processor time, however busy the machine is."""
_MOMENTS = (0.2, 3.0)
"""Seconds after its start between which a command is stopped: from its imports to its last write."""


@dataclass(frozen=True)
class Done:
    """What became of a child process. hung: it did nothing any more and was ended."""

    code: int
    told: str
    hung: bool = False

    def outcome(self) -> Outcome:
        """Well, refused in one sentence, or wrong."""
        if self.hung:
            return Outcome("wrong", f"hung for {_HANGS:.0f} s")
        if self.code == -signal.SIGXCPU:
            return Outcome("wrong", "took too much processor time")
        if "Traceback" in self.told or "Exception ignored" in self.told:
            return Outcome("wrong", self.told.strip()[-LONGEST_MESSAGE:])
        if self.code == 0:
            return Outcome("well")
        if self.code in _STOPPED:
            return Outcome("well", "stopped")
        lines = self.told.strip().splitlines()
        if self.code in _REFUSED and lines and len(lines[-1]) <= LONGEST_MESSAGE:
            return Outcome("refused", lines[-1])
        return Outcome("wrong", f"ended with {self.code}: {self.told[-LONGEST_MESSAGE:]}")


def start(arguments: Sequence[str | Path], largest: int = 0, seconds: float = SECONDS) -> subprocess.Popen[str]:
    """Start a command in a child process. largest: bytes that a file may have, 0 for any. seconds: of processor time
    after which it is ended."""
    limits = [str(MEMORY), str(round(seconds)), str(largest)]
    command = [sys.executable, "-c", _LIMITED, *limits, __package__.partition(".")[0], *map(str, arguments)]
    pipe = subprocess.PIPE
    environment = {**os.environ, **ONE_THREAD}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment)


def finish(process: subprocess.Popen[str]) -> Done:
    """Wait for a child process, and end it when it hangs."""
    try:
        _, told = process.communicate(timeout=_HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        _, told = process.communicate()
        return Done(process.returncode, told, hung=True)
    return Done(process.returncode, told)


def command(arguments: Sequence[str | Path], largest: int = 0, seconds: float = SECONDS) -> Done:
    """Run a command in a child process to its end; see `start`."""
    return finish(start(arguments, largest, seconds))


@dataclass(frozen=True)
class Writer:
    """A command that writes. arguments: all but the place. place: its file in a folder, "" where it writes a
    folder. check: reads what it wrote, or raises UserError. size: bytes of its largest file, about."""

    arguments: Sequence[str | Path]
    place: str
    check: Callable[[Path], object]
    size: int


def writers(samples: dict[str, Sample]) -> dict[str, Writer]:
    """Commands that write one file, by name."""
    shot, clip = samples["shot of a path"].path, samples["clip"].path
    return {
        "bake": Writer(["bake", shot, "--model", "pfnn", "--out"], "motion.npz", Motion.load, 66_000),
        "data label": Writer(["data", "label", clip, "--out"], "walk.labels.json", read_document, 1_200),
        "data import": Writer(["data", "import", samples["bvh"].path, "--out"], "", load_library, 4_000),
    }


def damaged(sample: Sample, arguments: Sequence[str | Path], folder: Path, rng: random.Random) -> Outcome:
    """A command on a damaged file, which stands in `arguments` as its own path; other files beside it stay."""
    place = folder / "input"
    shutil.copytree(sample.path.parent, place)
    path = place / sample.path.name
    path.write_bytes(mutated(path.read_bytes(), sample.form, rng))
    done = command([path if part == sample.path else part for part in arguments])
    outcome = done.outcome()
    if outcome.verdict == "refused" and not any(n in done.told for n in (path.name, path.stem, str(place))):
        return Outcome("wrong", f"does not name the file: {done.told}"[:LONGEST_MESSAGE])
    return outcome


def disk_full(writer: Writer, folder: Path, rng: random.Random) -> Outcome:
    """A disk that fills up while the command writes."""
    return _kept(writer, folder, lambda place: command([*writer.arguments, place], rng.randint(1, writer.size)))


def stopped(writer: Writer, folder: Path, rng: random.Random) -> Outcome:
    """A signal at any moment."""
    number = rng.choice((signal.SIGTERM, signal.SIGKILL))

    def run(place: Path) -> Done:
        process = start([*writer.arguments, place])
        try:
            process.wait(rng.uniform(*_MOMENTS))
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        return finish(process)

    return _kept(writer, folder, run, leaves_part=number == signal.SIGKILL)


def unwritable(writer: Writer, folder: Path, rng: random.Random) -> Outcome:
    """A place that is a link, a folder or a file of another kind, or lies below a file: refused, all left alone."""
    mine = folder / "mine"
    mine.write_bytes(_OLD)
    place = folder / (writer.place or "library")
    match rng.choice(("link", "dangling", "other", "below", "long", "missing")):
        case "link":
            place.symlink_to(mine)
        case "dangling":
            place.symlink_to(folder / "nowhere")
        case "other" if writer.place:
            place.mkdir()
        case "other":
            os.mkfifo(place)
        case "below":
            place = mine / place.name
        case "long":
            place = folder / ("x" * 300 + place.suffix)
        case _:
            place = Path("/proc/nowhere") / place.name
    before = _listing(folder)
    # A refusal comes before the work, and so in half the time.
    outcome = command([*writer.arguments, place], seconds=SECONDS / 2).outcome()
    if outcome.verdict == "well":
        return Outcome("wrong", f"wrote to {place}")
    if _listing(folder) != before:
        return Outcome("wrong", f"left something behind: {_listing(folder)}")
    return outcome


def two_at_once(writer: Writer, folder: Path, rng: random.Random) -> Outcome:
    """Two of the same command into one place; both get what they write in."""
    place = folder / (writer.place or "library")
    sources = [Path(part) for part in writer.arguments if Path(part).suffix == ".bvh"]
    first, second = list(writer.arguments), list(writer.arguments)
    if sources:  # another name, so that both clips have to be there
        other = folder / "other.bvh"
        shutil.copy(sources[0], other)
        second[second.index(sources[0])] = other
    running = [start([*first, place])]
    time.sleep(rng.uniform(0, 0.2))
    running.append(start([*second, place]))
    outcomes = [finish(process).outcome() for process in running]
    wrong = [outcome for outcome in outcomes if outcome.verdict != "well"]
    if wrong:
        return Outcome("wrong", wrong[0].told)
    try:
        found = writer.check(place)
    except UserError as error:
        return Outcome("wrong", f"left half a file: {error}")
    if sources and len(list(found)) != 2:  # type: ignore[call-overload]
        return Outcome("wrong", "lost a clip")
    return Outcome("well")


def _kept(writer: Writer, folder: Path, run: Callable[[Path], Done], leaves_part: bool = False) -> Outcome:
    """Whether a command that fails leaves the old file, or the new one whole, and nothing beside."""
    place = folder / (writer.place or "library")
    if writer.place:
        place.write_bytes(_OLD)
    outcome = run(place).outcome()
    if outcome.verdict == "wrong":
        return outcome
    if not writer.place or place.read_bytes() != _OLD:
        try:
            if writer.place or (place / "index.json").exists():
                writer.check(place)
        except UserError as error:
            return Outcome("wrong", f"left half a file: {error}")
    left = [name for name in _listing(folder) if name.endswith(".part")]
    if left and not leaves_part:
        return Outcome("wrong", f"left {', '.join(left)} behind")
    return outcome


def _listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
