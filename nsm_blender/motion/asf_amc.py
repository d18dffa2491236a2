# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of Acclaim motion: a skeleton in an ASF file, its poses in an AMC file."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..errors import FileFormatError
from ..files import TextLines, shortened
from .imported import MOST_SAMPLES, ImportedMotion, shared_prefix
from .rotations import Array, conjugate, from_euler, multiply

AMC_FPS = 120.0
"""Frame rate in Hz of the CMU and HDM05 recordings: AMC files do not state their own."""

_INCH = 0.0254
"""Length of an inch in meters: the unit of ASF files."""
_MOST_LINES = 200_000
"""Lines of a skeleton file above which it is refused; CMU's have 500."""
_MOST_BONES = 1_000
"""Bones above which a skeleton is refused; CMU's have 30."""
_FARTHEST = 1e7
"""Largest number that is believed in a file, in inches 250 km and in degrees 28,000 turns."""
_ROOT_NAME = "root"
"""Name of the root in ASF and AMC files."""


@dataclass
class _Bone:
    """A bone of an ASF file. direction and length give its far end; axis (w, x, y, z) its own axes; dof such as ("RX",
    "RZ")."""

    name: str
    line: int
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    dof: tuple[str, ...] = ()
    parent: str | None = None


@dataclass
class _Skeleton:
    """An ASF file: bones by name in file order, the root first."""

    bones: dict[str, _Bone]
    meters: float
    radians: float
    """Factor from the file's angles to radians."""

    position: Array
    """(3,) the root's place, in the file's units."""


def load_asf_amc(asf: Path | str, amc: Path | str, fps: float = AMC_FPS) -> ImportedMotion:
    """Read a skeleton and its motion.

    Each bone becomes a joint at its near end that turns as the bone does; the far ends of the last bones become end
    joints. Raises FileFormatError with one sentence that names file and line.
    """
    skeleton = _AsfReader(Path(asf), "an ASF file").read()
    values = _AmcReader(Path(amc), skeleton).read()
    return _assemble(skeleton, values, Path(amc).name, fps)


def find_asf(amc: Path, others: list[Path]) -> Path:
    """Find the skeleton of `amc`: the file with the best fitting name among `others` or in its folder.

    Raises FileFormatError when there is none or when several fit equally well.
    """
    candidates = sorted({*others, *(p for p in amc.parent.iterdir() if p.suffix.lower() == ".asf")})
    if not candidates:
        raise FileFormatError(f"{amc}: no .asf skeleton beside it; name one with --asf")
    scores = [len(shared_prefix((p.stem.lower(), amc.stem.lower()))) for p in candidates]
    best = [p for p, score in zip(candidates, scores, strict=True) if score == max(scores)]
    if len(best) > 1:
        raise FileFormatError(f"{amc}: does {best[0].name} or {best[1].name} belong to it? Say so with --asf")
    return best[0]


class _LineReader:
    """Lines of a file without comments and blanks, with their numbers for messages."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self.lines = TextLines(path, what)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Number, counted from 0, and words of each line that has any."""
        for number, line in enumerate(self.lines):
            if words := line.split("#")[0].split():
                yield number, words

    def fail(self, line: int, problem: str) -> NoReturn:
        """Raise FileFormatError. `line` counts from 0, the message from 1."""
        raise FileFormatError(f"{self.path}, line {line + 1}: {shortened(problem)}")

    def number(self, word: str, line: int) -> float:
        """Parse `word` as a finite number."""
        try:
            value = float(word)
        except ValueError:
            self.fail(line, f"'{word}' is not a number")
        if not abs(value) <= _FARTHEST:
            self.fail(line, f"'{word}' is not a number of a believable size")
        return value

    def numbers(self, words: list[str], count: int, line: int) -> list[float]:
        """Parse exactly the first `count` of `words` as numbers."""
        if len(words) < count:
            self.fail(line, f"{len(words)} values where {count} belong")
        return [self.number(w, line) for w in words[:count]]


class _AsfReader(_LineReader):
    """Reads the sections units, root, bonedata and hierarchy; documentation, limits and skin are skipped."""

    def read(self) -> _Skeleton:
        if self.lines.total > _MOST_LINES:
            raise FileFormatError(f"{self.path}: not a skeleton, as none has {self.lines.total:,} lines")
        self.skeleton = _Skeleton(
            {_ROOT_NAME: _Bone(_ROOT_NAME, 0)}, meters=_INCH, radians=np.pi / 180, position=np.zeros(3)
        )
        sections = {
            ":units": self._read_unit,
            ":root": self._read_root,
            ":bonedata": self._read_bone,
            ":hierarchy": self._read_children,
        }
        self.bone: _Bone | None = None
        self.root_axis: tuple[str, list[float]] = ("XYZ", [0.0, 0.0, 0.0])
        seen, handler = set(), None
        last = 0
        for last, words in self.rows():
            if words[0].startswith(":"):
                section = words[0].lower()
                seen.add(section)
                handler = sections.get(section)
            elif handler is not None:
                handler(last, words)
        for section in (":root", ":bonedata", ":hierarchy"):
            if section not in seen:
                self.fail(last, f"the file ends without a section {section}")
        if self.bone is not None:
            self.fail(last, f"the file ends inside the bone {self.bone.name}")
        self._finish()
        return self.skeleton

    def _read_unit(self, line: int, words: list[str]) -> None:
        key = words[0].lower()
        if key == "length":
            scale = self.numbers(words[1:], 1, line)[0]
            if scale <= 0:
                self.fail(line, "the length unit must be above zero")
            self.skeleton.meters = _INCH / scale
        elif key == "angle":
            kind = words[1].lower() if len(words) > 1 else ""
            if not kind.startswith(("deg", "rad")):
                self.fail(line, "the angle unit must be deg or rad")
            self.skeleton.radians = 1.0 if kind.startswith("rad") else np.pi / 180

    def _read_root(self, line: int, words: list[str]) -> None:
        root, key = self.skeleton.bones[_ROOT_NAME], words[0].lower()
        if key == "order":
            root.dof = self._degrees_of_freedom(words[1:], line)
        elif key == "axis":
            self.root_axis = (self._order(words[1] if len(words) > 1 else "", line), self.root_axis[1])
        elif key == "position":
            self.skeleton.position = np.array(self.numbers(words[1:], 3, line))
        elif key == "orientation":
            self.root_axis = (self.root_axis[0], self.numbers(words[1:], 3, line))

    def _read_bone(self, line: int, words: list[str]) -> None:
        key = words[0].lower()
        if key == "begin":
            if self.bone is not None:
                self.fail(line, f"the bone {self.bone.name or 'before'} has no end")
            self.bone = _Bone("", line)
        elif self.bone is None:
            self.fail(line, f"expected begin, found '{words[0]}'")
        elif key == "end":
            if not self.bone.name:
                self.fail(line, "a bone without a name")
            self.bone = None
        elif key == "name":
            if len(words) < 2:
                self.fail(line, "a bone without a name")
            if self.bone.name:
                self.fail(line, f"the bone {self.bone.name} has two names")
            if len(self.skeleton.bones) >= _MOST_BONES:
                self.fail(line, f"more than {_MOST_BONES:,} bones")
            if words[1] in self.skeleton.bones:
                self.fail(line, f"the bone {words[1]} is there twice")
            self.bone.name = words[1]
            self.skeleton.bones[words[1]] = self.bone
        elif key == "direction":
            direction = np.array(self.numbers(words[1:], 3, line))
            length = float(np.linalg.norm(direction))
            self.bone.direction = direction / length if length > 0 else direction
        elif key == "length":
            self.bone.length = self.numbers(words[1:], 1, line)[0]
        elif key == "axis":
            angles = self.numbers(words[1:], 3, line)
            self.bone.axis = self._turn(self._order(words[4] if len(words) > 4 else "XYZ", line), angles)
        elif key == "dof":
            self.bone.dof = self._degrees_of_freedom(words[1:], line)

    def _read_children(self, line: int, words: list[str]) -> None:
        if words[0].lower() in ("begin", "end"):
            return
        for word in words:
            if word not in self.skeleton.bones:
                self.fail(line, f"there is no bone {word}")
        for child in words[1:]:
            if self.skeleton.bones[child].parent is not None or child == _ROOT_NAME:
                self.fail(line, f"the bone {child} has two parents")
            self.skeleton.bones[child].parent = words[0]
            self.skeleton.bones[child].line = line

    def _degrees_of_freedom(self, words: list[str], line: int) -> tuple[str, ...]:
        out = tuple(w.upper() for w in words)
        if len(set(out)) < len(out):
            self.fail(line, "a degree of freedom is there twice")
        for word in out:
            if word not in ("RX", "RY", "RZ", "TX", "TY", "TZ", "L"):
                self.fail(line, f"'{word}' is no degree of freedom")
        return out

    def _order(self, word: str, line: int) -> str:
        if sorted(word.upper()) != ["X", "Y", "Z"]:
            self.fail(line, f"'{word}' is no order of axes")
        return word.upper()

    def _turn(self, order: str, angles: list[float]) -> Array:
        """Rotation of Acclaim's angles: the first axis is applied first, so it is the innermost factor."""
        return from_euler(np.array(angles[::-1]) * self.skeleton.radians, order[::-1])

    def _finish(self) -> None:
        root = self.skeleton.bones[_ROOT_NAME]
        root.axis = self._turn(*self.root_axis)
        if not root.dof:
            root.dof = ("TX", "TY", "TZ", "RX", "RY", "RZ")
        placed = {_ROOT_NAME}
        ordered = [_ROOT_NAME]
        waiting = [n for n in self.skeleton.bones if n != _ROOT_NAME]
        for name in waiting:
            if self.skeleton.bones[name].parent is None:
                self.fail(self.skeleton.bones[name].line, f"the bone {name} hangs on nothing in :hierarchy")
        while waiting:
            ready = [n for n in waiting if self.skeleton.bones[n].parent in placed]
            if not ready:
                self.fail(self.skeleton.bones[waiting[0]].line, f"the bone {waiting[0]} is its own ancestor")
            placed.update(ready)
            ordered += ready
            waiting = [n for n in waiting if n not in placed]
        self.skeleton.bones = {n: self.skeleton.bones[n] for n in ordered}


class _AmcReader(_LineReader):
    """Reads frames of `NUMBER`, then one line `BONE VALUES...` for each moving bone."""

    def __init__(self, path: Path, skeleton: _Skeleton) -> None:
        super().__init__(path, "an AMC file")
        self.skeleton = skeleton

    def read(self) -> dict[str, Array]:
        """Values (T, degrees of freedom) of each moving bone."""
        self.radians = self.skeleton.radians
        moving = {n: len(b.dof) for n, b in self.skeleton.bones.items() if b.dof}
        values = {n: array("d") for n in moving}
        counts = dict.fromkeys(moving, 0)
        frames, last = 0, 0
        for line, words in self.rows():
            name = words[0]
            if name in moving:
                row = words[1:]
                if len(row) != moving[name]:
                    self.fail(line, f"{len(row)} values for {name} where the skeleton has {moving[name]}")
                if counts[name] != frames - 1:
                    self.fail(line, f"{name} is there twice in a frame" if frames else f"{name} before the first frame")
                counts[name] += 1
                values[name].extend(self._frame_of(row, line))
            elif len(words) == 1 and name.isdigit():
                self._check_complete(counts, frames, last)
                frames += 1
                if frames * len(self.skeleton.bones) > MOST_SAMPLES:
                    self.fail(
                        line,
                        f"{frames:,} frames of {len(self.skeleton.bones)} bones are more than the {MOST_SAMPLES:,} "
                        "samples that are read at once; cut the recording",
                    )
            elif name.startswith(":"):
                if name.lower() in (":degrees", ":radians"):
                    self.radians = 1.0 if name.lower() == ":radians" else np.pi / 180
            else:
                self.fail(line, f"the skeleton has no moving bone {name}")
            last = line
        if frames == 0:
            self.fail(last, "the file holds no frames")
        if not moving:
            self.fail(last, "the skeleton has no moving bone")
        self._check_complete(counts, frames, last)
        arrays = {n: np.array(v).reshape(frames, moving[n]) for n, v in values.items()}
        for name, turns in arrays.items():
            turning = [i for i, d in enumerate(self.skeleton.bones[name].dof) if d.startswith("R")]
            turns[:, turning] *= self.radians
        return arrays

    def _frame_of(self, row: list[str], line: int) -> list[float]:
        """The numbers of a bone in a frame; those that are wrong are looked at by themselves."""
        try:
            out = list(map(float, row))
        except ValueError:
            return self.numbers(row, len(row), line)
        believable = math.isfinite(sum(out)) and min(out) >= -_FARTHEST and max(out) <= _FARTHEST
        return out if believable else self.numbers(row, len(row), line)

    def _check_complete(self, counts: dict[str, int], frames: int, line: int) -> None:
        for name, count in counts.items():
            if count != frames:
                self.fail(line, f"the frame ends without the bone {name}")


def _assemble(skeleton: _Skeleton, values: dict[str, Array], source: str, fps: float) -> ImportedMotion:
    bones = skeleton.bones
    index = {name: j for j, name in enumerate(bones)}
    frames = len(next(iter(values.values())))
    rotations = [_rotation(bone, values.get(name), frames) for name, bone in bones.items()]
    offsets = [np.zeros(3)]
    parents = [-1]
    names = list(bones)
    is_end = [False] * len(bones)
    for bone in list(bones.values())[1:]:
        assert bone.parent is not None
        above = bones[bone.parent]
        offsets.append(above.direction * above.length)
        parents.append(index[bone.parent])
    carrying = {b.parent for b in bones.values()}
    for name, bone in bones.items():
        if name not in carrying:
            names.append(f"{name} end")
            offsets.append(bone.direction * bone.length)
            parents.append(index[name])
            is_end.append(True)
            rotations.append(np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)))
    return ImportedMotion(
        source=source,
        names=tuple(names),
        parents=tuple(parents),
        offsets=np.array(offsets),
        is_end=tuple(is_end),
        rotations=np.stack(rotations, axis=1),
        fps=fps,
        translations={0: _root_track(skeleton, values, frames)},
        unit=skeleton.meters,
    )


def _rotation(bone: _Bone, values: Array | None, frames: int) -> Array:
    """Rotations (T, 4) against the rest pose: the angles turn about the bone's own axes C, so C R C^-1."""
    turns = [(i, d[1]) for i, d in enumerate(bone.dof) if d.startswith("R")]
    if values is None or not turns:
        return np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1))
    columns = [i for i, _ in turns][::-1]
    order = "".join(letter for _, letter in turns)[::-1]
    return multiply(multiply(bone.axis, from_euler(values[:, columns], order)), conjugate(bone.axis))


def _root_track(skeleton: _Skeleton, values: dict[str, Array], frames: int) -> Array:
    """Places (T, 3) of the root in the file's units."""
    out = np.tile(skeleton.position, (frames, 1))
    for i, letter in enumerate(skeleton.bones[_ROOT_NAME].dof):
        if letter.startswith("T"):
            out[:, "XYZ".index(letter[1])] += values[_ROOT_NAME][:, i]
    return out
