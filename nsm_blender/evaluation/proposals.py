# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the proposed handles are right, on made-up pieces of furniture, some of them odd.

`nsm-blender evaluate proposals` tells these figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.furniture import Piece, make
from ..geometry.proposals import propose
from ..geometry.roles import Carryable, Climbable, Door, Handles, Proposal, Seat, Surface
from . import oddities
from .oddities import Oddity

SETS = tuple(range(5, 55, 5))
"""Seeds of the sets that are judged; nothing was tuned on them (see `furniture.held_out`)."""

FACING = 10.0
"""Degrees that a facing may be off."""

PLACES = {"seat": 0.05, "arm rest": 0.08, "hinge": 0.05, "grip": 0.08, "palm": 0.03, "surface": 0.08, "edge": 0.05}
"""Meters that a place of each kind may be off; heights of seats and surfaces have HEIGHT."""

HEIGHT = 0.03
"""Meters that the height of a seat or surface may be off."""

UNFIT = {"raised", "tilted", "enlarged"}
"""Oddities that no longer let one use a piece: there must be a warning. With the others its handles must be right."""

PIECES = (
    ("chair", ("turned", "turned noisy", "raised turned", "one_legged turned")),
    ("armchair", ("turned", "flipped turned", "turned holed", "holed noisy")),
    ("stool", ("turned", "raised turned", "turned holed", "tilted")),
    ("sofa", ("mirrored", "turned noisy", "turned flipped", "")),
    ("bench", ("turned", "turned holed", "holed noisy", "mirrored")),
    ("office_chair", ("turned", "turned noisy", "tilted", "holed")),
    ("door", ("turned", "mirrored turned", "turned noisy", "holed flipped")),
    ("box", ("turned", "enlarged", "turned noisy", "")),
    ("crate", ("turned", "turned holed", "mirrored", "turned noisy")),
    ("sack", ("turned", "turned noisy", "enlarged", "holed")),
)
"""40 pieces of 10 kinds to sit on, open and carry, with their oddities, one after the other."""

MORE = (
    ("drum", ("turned", "turned holed", "", "turned noisy")),
    ("table", ("turned", "one_legged turned", "raised turned", "turned noisy")),
    ("desk", ("turned", "mirrored turned", "tilted", "turned holed")),
    ("shelf", ("turned", "turned noisy", "", "turned flipped")),
    ("step", ("turned", "turned noisy", "", "turned holed")),
    ("platform", ("turned", "raised turned", "turned noisy", "")),
    ("tub_chair", ("turned", "turned noisy", "turned holed", "raised turned")),
    ("slatted_bench", ("turned", "turned noisy", "mirrored turned", "flipped")),
    ("stairs", ("turned", "mirrored turned", "turned noisy", "turned holed")),
)
"""36 pieces to put things on and to climb on, and seats that are harder to read, of 9 more kinds."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What became of one piece. wrong: what is wrong with the handles, "" if they are right. fit: whether the piece can
    be used as it is."""

    piece: Piece
    seed: int
    found: Proposal
    wrong: str
    fit: bool

    @property
    def warned(self) -> bool:
        """Whether the animator is told that something is not as it should be."""
        return bool(self.found.warnings)

    @property
    def right(self) -> bool:
        """Right handles without a warning on a piece that fits; a warning on one that does not."""
        return not self.wrong and not self.warned if self.fit else self.warned


def evaluate(seeds: Sequence[int], log: Callable[[str], None] = print) -> dict[str, float]:
    """Figures of sets of pieces, one set per seed; the mean over the sets but for `right_worst_set`.

    Of the pieces that are not right, `warned` have a warning and `wrong_unwarned` have none. log: told each of them.
    """
    out: dict[str, float] = {}
    for name, pieces in (("sit_open_carry", PIECES), ("put_climb", MORE)):
        verdicts = [verdict for seed in seeds for verdict in judge_all(pieces, seed)]
        wrong = [verdict for verdict in verdicts if not verdict.right]
        for v in wrong:
            log(f"{v.piece.kind} {v.seed} {v.piece.odd or 'sound'}: {v.wrong or 'handles right'}; {v.found.warnings}")
        per_set = len(verdicts) / len(seeds)
        out[f"proposals.{name}.pieces"] = per_set
        out[f"proposals.{name}.right"] = per_set * (1 - len(wrong) / len(verdicts))
        out[f"proposals.{name}.right_worst_set"] = min(
            per_set - sum(v.seed // 1000 == seed // 1000 for v in wrong) for seed in (1000 * s for s in seeds)
        )
        out[f"proposals.{name}.warned"] = sum(v.warned for v in wrong) / len(seeds)
        out[f"proposals.{name}.wrong_unwarned"] = sum(not v.warned for v in wrong) / len(seeds)
    return out


def judge_all(pieces: tuple[tuple[str, tuple[str, ...]], ...], seed: int) -> list[Verdict]:
    """The verdict on each piece of a set."""
    out = []
    for kind, odd_names in pieces:
        for number, odd in enumerate(odd_names):
            # Multiples of 5 stay multiples of 5: held-out sets are made of held-out pieces.
            out.append(judge(kind, 1000 * seed + 5 * number + seed % 5, odd))
    return out


def judge(kind: str, seed: int, odd: str = "") -> Verdict:
    """Propose handles for the piece of a seed, made odd by the functions of these names in `oddities`."""
    piece = make(kind, seed)
    rng = np.random.default_rng([7, seed])
    for name in odd.split():
        change: Oddity = getattr(oddities, name)
        piece = change(rng, piece)
    found = propose(piece.role, piece.mesh)
    wrong = min((difference(found.handles, truth) for truth in (piece.handles, *piece.also) if truth), key=len)
    return Verdict(replace(piece, odd=odd), seed, found, wrong, not UNFIT & set(odd.split()))


def difference(found: Handles | None, truth: Handles) -> str:
    """In what found handles differ from true ones by more than the tolerances; "" when they do not."""
    match found, truth:
        case Seat(), Seat():
            return _seat(found, truth)
        case Door(), Door():
            off = float(np.linalg.norm(np.subtract(found.hinge, truth.hinge)[:2]))
            return _joined(
                _over("hinge", off),
                _over("grip", _apart(found.handle, truth.handle)),
                _turned("axis", found.axis, truth.axis),
            )
        case Carryable(), Carryable():
            return _joined(
                _over("palm", max(_apart(found.left, truth.left), _apart(found.right, truth.right))),
                _turned("facing", found.facing, truth.facing),
            )
        case Surface(), Surface():
            off = float(np.linalg.norm(np.subtract(found.place, truth.place)[:2]))
            return _joined(
                _over("surface", off),
                _height(found.place, truth.place),
                _turned("facing", found.facing, truth.facing),
            )
        case Climbable(), Climbable():
            return _joined(
                _over("edge", _apart(found.edge, truth.edge)),
                _over("surface", _apart(found.landing, truth.landing)),
                _turned("facing", found.facing, truth.facing),
            )
    return "no handles"


def _seat(found: Seat, truth: Seat) -> str:
    off = float(np.linalg.norm(np.subtract(found.place, truth.place)[:2]))
    arms = ""
    if len(found.arm_rests) != len(truth.arm_rests):
        arms = f"{len(found.arm_rests)} arm rests for {len(truth.arm_rests)}"
    for rest in truth.arm_rests:
        # Along the seat a rest may be held anywhere, so only its height and its side count.
        apart = [
            abs(_across(truth, other) - _across(truth, rest)) + abs(other[2] - rest[2]) for other in found.arm_rests
        ]
        arms = arms or _over("arm rest", min(apart, default=np.inf))
    return _joined(
        _over("seat", off), _height(found.place, truth.place), _turned("facing", found.facing, truth.facing), arms
    )


def _across(seat: Seat, place: list[float]) -> float:
    """Meters to the sitter's left."""
    way = np.subtract(place, seat.place)
    return float(-way[0] * seat.facing[1] + way[1] * seat.facing[0])


def _apart(a: list[float], b: list[float]) -> float:
    return float(np.linalg.norm(np.subtract(a, b)))


def _over(what: str, meters: float) -> str:
    return f"{what} {100 * meters:.1f} cm off" if meters > PLACES[what] else ""


def _height(a: list[float], b: list[float]) -> str:
    return f"height {100 * abs(a[2] - b[2]):.1f} cm off" if abs(a[2] - b[2]) > HEIGHT else ""


def _turned(what: str, a: list[float], b: list[float]) -> str:
    cosine = np.dot(a, b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12)
    angle = float(np.rad2deg(np.arccos(np.clip(cosine, -1, 1))))
    return f"{what} {angle:.0f} degrees off" if angle > FACING else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
