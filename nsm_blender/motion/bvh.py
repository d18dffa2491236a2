# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of BVH files in their many dialects."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..errors import FileFormatError
from ..files import TextLines, shortened
from .imported import MOST_SAMPLES, ImportedMotion
from .rotations import Array, from_euler

_NO_NAMES = {"OFFSET", "CHANNELS", "}"}
_CHANNEL = re.compile(r"([XYZ])(POSITION|ROTATION)", re.IGNORECASE)
_COUNTED = re.compile(r"[0-9]{1,9}")
_COUNT = re.compile(r"frames\s*:?\s*(\S+)", re.IGNORECASE)
_TIME = re.compile(r"frame\s*time\s*:?\s*(\S+)", re.IGNORECASE)
_MOST_LINES = 100_000
"""Lines of a skeleton above which the file is refused; one of 1,000 joints has 5,000."""
_LONGEST_NAME = 100
"""Letters of a joint's name: Blender's bones have 63 at most; a missing brace makes a name of all that follows."""
_MOST_JOINTS = 5_000
"""Joints above which the file is refused; a figure with all its fingers and face has 300."""
_LONGEST_HEADER = 200
"""Signs of a line of the header at most: the count of the frames or their time."""
_LONGEST_SKELETON = 5_000_000
"""Signs of a skeleton above which the file is refused: a thousand for each of the most joints."""
_FARTHEST = 1e7
"""Largest number that is believed in a file, in millimeters 10 km and in degrees 28,000 turns."""
_SLOWEST_FPS = 1.0
"""Lowest frame rate in Hz that is believed."""
_FASTEST_FPS = 2000.0
"""Highest frame rate in Hz that is believed."""


@dataclass
class _Joint:
    name: str
    parent: int
    line: int
    is_end: bool = False
    offset: list[float] | None = None
    channels: list[tuple[str, str]] = field(default_factory=list)
    """Pairs such as ("X", "ROTATION"), in the file's order."""


def load_bvh(path: Path | str) -> ImportedMotion:
    """Read a BVH file.

    Rotation orders, channel orders, missing channels, positions on inner joints, tabs, any line ends
    and decimal commas are understood. Raises FileFormatError with one sentence that names file and line.
    """
    return _Reader(Path(path)).read()


class _Reader:
    """Reads a file in one pass; `fail` raises the error with the faulty line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = TextLines(path, "a BVH file")
        self.lines = self._skeleton_lines()
        self.joints: list[_Joint] = []

    def _skeleton_lines(self) -> list[str]:
        """The lines to the first frame, at most; the frames are read block by block."""
        lines: list[str] = []
        signs = 0
        for line in islice(self.text, _MOST_LINES):
            lines.append(line)
            signs += len(line)
            if signs > _LONGEST_SKELETON:
                break
            if _matched(_TIME, line):
                return lines
        if len(lines) < self.text.total:
            raise FileFormatError(
                f"{self.path}: not a BVH file that can be read, as 'Frame Time' is not among its first "
                f"{len(lines):,} lines"
            )
        return lines

    def read(self) -> ImportedMotion:
        motion_line = self._read_hierarchy()
        count, seconds, first = self._read_header(motion_line)
        values = self._read_frames(first, count)
        return self._assemble(values, 1.0 / seconds)

    def fail(self, line: int, problem: str) -> NoReturn:
        """Raise FileFormatError. `line` counts from 0, the message from 1."""
        raise FileFormatError(f"{self.path}, line {min(line, self.text.total - 1) + 1}: {shortened(problem)}")

    # Hierarchy

    def _read_hierarchy(self) -> int:
        """Fill `joints` and return the line of MOTION."""
        self.tokens = self._tokenize()
        self.at = 0
        word, line = self._next("HIERARCHY")
        if word.upper() != "HIERARCHY":
            self.fail(line, f"a BVH file begins with HIERARCHY, not with '{word}'")
        word, line = self._next("ROOT")
        if word.upper() != "ROOT":
            self.fail(line, f"expected ROOT, found '{word}'")
        self._read_joints(line)
        word, line = self._next("MOTION")
        if word.upper() == "ROOT":
            self.fail(line, "a second ROOT; save each figure in a file of its own")
        if word.upper() != "MOTION":
            self.fail(line, f"expected MOTION, found '{word}'")
        if not any(j.channels for j in self.joints):
            self.fail(line, "the skeleton has no channels")
        return line

    def _tokenize(self) -> list[tuple[str, int]]:
        tokens = []
        for number, line in enumerate(self.lines):
            words = line.replace("{", " { ").replace("}", " } ").split()
            tokens += [(word, number) for word in words]
            if words and words[0].upper() == "MOTION":
                break
        return tokens

    def _next(self, expected: str) -> tuple[str, int]:
        if self.at >= len(self.tokens):
            self.fail(len(self.lines) - 1, f"the file ends where {expected} should follow")
        self.at += 1
        return self.tokens[self.at - 1]

    def _read_joints(self, line: int) -> None:
        """Read from behind ROOT to the closing brace of the root."""
        stack = [self._open_joint(-1, line)]
        while stack:
            word, line = self._next("'}'")
            joint = self.joints[stack[-1]]
            keyword = word.upper()
            if keyword == "}":
                if joint.offset is None:
                    self.fail(line, f"joint {joint.name} has no OFFSET")
                stack.pop()
            elif keyword == "OFFSET":
                joint.offset = [self._number() for _ in range(3)]
            elif joint.is_end:
                self.fail(line, f"expected OFFSET or '}}' in an End Site, found '{word}'")
            elif keyword == "CHANNELS":
                self._read_channels(joint, line)
            elif keyword == "JOINT":
                stack.append(self._open_joint(stack[-1], line))
            elif keyword == "END":
                stack.append(self._open_joint(stack[-1], line, is_end=True))
            else:
                self.fail(line, f"expected OFFSET, CHANNELS, JOINT, End Site or '}}', found '{word}'")

    def _open_joint(self, parent: int, line: int, is_end: bool = False) -> int:
        """Read the name (which may contain blanks) and the opening brace; return the new joint's index."""
        words = []
        while (token := self._next("'{'"))[0] != "{":
            if token[0].upper() in _NO_NAMES:
                self.fail(token[1], f"expected '{{', found '{token[0]}'")
            words.append(token[0])
        name = " ".join(words)
        if is_end:
            name = f"{self.joints[parent].name} end"
        elif not name:
            self.fail(line, "a joint without a name")
        elif len(name) > _LONGEST_NAME:
            self.fail(line, f"the name of a joint has {len(name)} letters, at most {_LONGEST_NAME} are read")
        if len(self.joints) >= _MOST_JOINTS:
            self.fail(line, f"more than {_MOST_JOINTS:,} joints")
        self.joints.append(_Joint(name, parent, line, is_end))
        return len(self.joints) - 1

    def _read_channels(self, joint: _Joint, line: int) -> None:
        word, _ = self._next("the number of channels")
        if not _COUNTED.fullmatch(word):
            self.fail(line, f"'{word}' is no number of channels")
        if joint.channels:
            self.fail(line, f"joint {joint.name} has CHANNELS twice")
        for _ in range(min(int(word), len(self.tokens))):
            name, at = self._next("a channel")
            match = _CHANNEL.fullmatch(name)
            if match is None:
                self.fail(at, f"joint {joint.name} needs {word} channels, '{name}' is none")
            channel = (match[1].upper(), match[2].upper())
            if channel in joint.channels:
                self.fail(at, f"joint {joint.name} has the channel {name} twice")
            joint.channels.append(channel)

    def _number(self) -> float:
        word, line = self._next("a number")
        value = _to_float(word)
        if value is None:
            self.fail(line, f"'{word}' is not a number")
        return value

    # Motion

    def _read_header(self, motion_line: int) -> tuple[int, float, int]:
        """Read the number of frames, the seconds per frame and the first line of data."""
        line, match = self._header_line(motion_line + 1, _COUNT, "'Frames: N'")
        if not _COUNTED.fullmatch(match) or int(match) == 0:
            self.fail(line, f"'{match}' is no number of frames")
        count = int(match)
        if count * len(self.joints) > MOST_SAMPLES:
            self.fail(
                line,
                f"{count:,} frames of {len(self.joints)} joints are more than the {MOST_SAMPLES:,} samples that are "
                "read at once; cut the recording",
            )
        line, text = self._header_line(line + 1, _TIME, "'Frame Time: SECONDS'")
        seconds = _to_float(text)
        if seconds is None or not 1 / _FASTEST_FPS <= seconds <= 1 / _SLOWEST_FPS:
            self.fail(line, f"'{text}' is no frame time in seconds")
        return count, _snap(seconds, text), line + 1

    def _header_line(self, line: int, pattern: re.Pattern[str], expected: str) -> tuple[int, str]:
        while line < len(self.lines) and not self.lines[line].strip():
            line += 1
        if line >= len(self.lines):
            self.fail(line, f"the file ends where {expected} should follow")
        match = _matched(pattern, self.lines[line])
        if match is None:
            self.fail(line, f"expected {expected}, found '{self.lines[line].strip()}'")
        return line, match[1]

    def _read_frames(self, first: int, count: int) -> Array:
        """Read all channel values (count, channels), block by block: a frame a line is the rule; a frame over several
        lines, or several a line, are accepted."""
        width = sum(len(j.channels) for j in self.joints)
        commas = self.text.holds(b",", first)
        between = commas and self.text.holds(b".", first)
        values, sizes, numbers = array("d"), array("q"), array("q")
        number = first
        for block in self.text.blocks(first):
            rows = []
            for line in block:
                if between:
                    line = line.replace(",", " ")
                elif commas:
                    line = line.replace(",", ".")
                if words := line.split():
                    rows.append(words)
                    sizes.append(len(words))
                    numbers.append(number)
                number += 1
            try:
                values.extend(map(float, chain.from_iterable(rows)))
            except ValueError:
                self._fail_at_word(rows, numbers)
            if len(values) > width * count:
                break
        self._check_layout(np.array(sizes), np.array(numbers), width, count)
        flat = np.frombuffer(values, dtype=np.float64)
        if not (np.abs(flat) <= _FARTHEST).all():  # not so for NaN
            wrong = int(np.argmin(np.abs(flat) <= _FARTHEST))
            row = int(np.searchsorted(np.cumsum(sizes), wrong, side="right"))
            problem = "is not a number" if not math.isfinite(flat[wrong]) else "is beyond all that is measured"
            self.fail(int(numbers[row]), f"'{flat[wrong]:g}' {problem}")
        return flat.reshape(count, width)

    def _fail_at_word(self, rows: list[list[str]], numbers: array[int]) -> NoReturn:
        """Raise the error for the first word of the rows, which are the last of those counted, that is no number."""
        for words, line in zip(rows, numbers[-len(rows) :], strict=True):
            for word in words:
                if _to_float(word) is None:
                    self.fail(line, f"'{word}' is not a number")
        raise AssertionError("all words are numbers")

    def _check_layout(self, sizes: Array, numbers: Array, width: int, count: int) -> None:
        """Check the numbers of values of the lines that hold any, and the numbers of these lines."""
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if len(ends) else 0
        if not bool((sizes == width).all()):
            whole_lines = bool((sizes % width == 0).all())
            whole_frames = bool(np.isin(np.arange(width, total + 1, width), ends).all()) and total % width == 0
            if not (whole_lines or (whole_frames and total == width * count)):
                row = int(np.argmax(sizes != width))
                cut = " (the file is cut off)" if row == len(sizes) - 1 and sizes[row] < width else ""
                self.fail(int(numbers[row]), f"{sizes[row]} values where the skeleton has {width} channels{cut}")
        frames = total // width
        if frames < count:
            self.fail(
                int(numbers[-1]) if len(numbers) else self.text.total, f"the file ends after {frames} of {count} frames"
            )
        if frames > count:
            extra = int(np.searchsorted(ends, width * count + 1))
            self.fail(int(numbers[extra]), f"more than the {count} frames that the file announces")

    # Assembly

    def _assemble(self, values: Array, fps: float) -> ImportedMotion:
        offsets = np.array([j.offset for j in self.joints], dtype=np.float64)
        rotations = np.zeros((len(values), len(self.joints), 4))
        rotations[..., 0] = 1.0
        translations: dict[int, Array] = {}
        by_order: dict[str, tuple[list[int], list[list[int]]]] = {}
        column = 0
        for j, joint in enumerate(self.joints):
            columns = range(column, column + len(joint.channels))
            column += len(joint.channels)
            order = "".join(axis for axis, kind in joint.channels if kind == "ROTATION")
            if order:
                members, turning = by_order.setdefault(order, ([], []))
                members.append(j)
                turning.append([c for c, (_, kind) in zip(columns, joint.channels, strict=True) if kind == "ROTATION"])
            moving = {axis: c for c, (axis, kind) in zip(columns, joint.channels, strict=True) if kind == "POSITION"}
            if moving:
                translations[j] = _translation(values, moving, offsets[j], is_root=joint.parent < 0)
        for order, (members, turning) in by_order.items():
            rotations[:, members] = from_euler(np.radians(values[:, np.array(turning)]), order)
        translations.setdefault(0, np.broadcast_to(offsets[0], (len(values), 3)))
        return ImportedMotion(
            source=self.path.name,
            names=tuple(j.name for j in self.joints),
            parents=tuple(j.parent for j in self.joints),
            offsets=offsets,
            is_end=tuple(j.is_end for j in self.joints),
            rotations=rotations,
            fps=fps,
            translations=translations,
        )


_ALONG = 0.1
"""Share of an offset's length that it has along an axis to tell places from displacements."""


def _translation(values: Array, columns: dict[str, int], offset: Array, is_root: bool) -> Array:
    """Local places (T, 3) of a joint with position channels.

    The channels contain the place itself (then they stay near the offset) or, in some exports, a displacement from the
    offset (then they stay near zero).
    """
    out = np.tile(offset, (len(values), 1))
    for axis, column in columns.items():
        out[:, "XYZ".index(axis)] = values[:, column]
    axes = ["XYZ".index(axis) for axis in columns]
    given, rest = out[:, axes], offset[axes]
    if not is_root and np.linalg.norm(rest) > 0 and _is_displacement(given, rest):
        out[:, axes] += rest
    return out


def _is_displacement(given: Array, rest: Array) -> bool:
    """Whether channels (T, N) are nearer to zero than to the offset `rest` (N,), on every axis that the offset has:
    hips below a root keep their height wherever the scene's origin is."""
    axes = np.abs(rest) > _ALONG * np.linalg.norm(rest)
    far, near = np.abs(given - rest)[:, axes], np.abs(given)[:, axes]
    return bool(np.all(np.median(near, axis=0) < np.median(far, axis=0)))


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    """A line of the header that is all of a pattern."""
    # Of a long line of blanks, trying all ways to share them out takes minutes.
    return pattern.fullmatch(line.strip()) if len(line) <= _LONGEST_HEADER else None


def _to_float(word: str) -> float | None:
    """Parse a number of a believable size with a decimal point or comma; None when `word` is none."""
    try:
        value = float(word.replace(",", "."))
    except ValueError:
        return None
    return value if abs(value) <= _FARTHEST else None


def _snap(seconds: float, text: str) -> float:
    """Frame time, rounded to 1/N when its few printed digits mean that (0.0083333 is 120 fps)."""
    digits = re.search(r"[.,](\d+)$", text)
    step = 10.0 ** -len(digits[1]) if digits else 0.0
    whole = 1.0 / round(1.0 / seconds)
    near = abs(whole - seconds)
    return whole if near <= step and near <= 2e-3 * seconds else seconds
