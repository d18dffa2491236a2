# SPDX-License-Identifier: GPL-3.0-or-later
"""How often role and handles are right on furniture as modelers make it. `nsm-blender evaluate proposals` tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...geometry.furniture import Piece
from ...geometry.proposals import guess_role, propose
from ...geometry.reach import SIT_HEIGHTS
from ...geometry.roles import KINDS as ROLES_WITH_HANDLES
from ...geometry.roles import Proposal, Seat
from ..naturalness.case import DEVELOPMENT_SEEDS, UNSEEN_SEEDS
from ..proposals import difference
from .catalog import ALSO_RIGHT, KINDS, make

PER_KIND = 10
"""Pieces of each kind that are judged for the table."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What became of one piece. role: that was guessed from the mesh alone. wrong: what is wrong with the handles that
    were proposed for its own role, "" if they are right. fit: whether the piece can be used as it is: on one that
    cannot, a warning is asked for and the handles do not count."""

    piece: Piece
    seed: int
    role: str
    found: Proposal
    wrong: str
    fit: bool

    @property
    def role_right(self) -> bool:
        """Whether the guessed role is the piece's own, or one that its form suggests just as well."""
        return self.role in (self.piece.role, *ALSO_RIGHT.get(self.piece.kind, ()))

    @property
    def handles_right(self) -> bool:
        """Right handles without a warning on a piece that fits; a warning on one that does not."""
        return not self.wrong and not self.found.warnings if self.fit else bool(self.found.warnings)

    def told(self) -> str:
        """What is wrong with it, in one line."""
        role = "" if self.role_right else f"taken for a {self.role}; "
        wrong = self.wrong if self.fit else "" if self.found.warnings else "no warning"
        return f"{self.piece.kind} {self.seed}: {role}{wrong or 'handles right'}; {' '.join(self.found.warnings)}"


def judge(kind: str, seed: int) -> Judged:
    """Guess the role of a piece, and propose handles for its own role, as for a mesh that stands alone in a scene."""
    piece = make(kind, seed)
    role = guess_role(piece.mesh)
    found = propose(piece.role, piece.mesh)
    wrong = ""
    if piece.role in ROLES_WITH_HANDLES:
        wrong = min((difference(found.handles, truth) for truth in (piece.handles, *piece.also) if truth), key=len)
    return Judged(piece, seed, role, found, wrong, _fits(piece))


def evaluate(
    development: bool = False, per_kind: int = PER_KIND, kinds: Sequence[str] = KINDS,
    log: Callable[[str], None] = print,
) -> dict[str, float]:  # fmt: skip
    """Shares of the pieces whose role and whose handles are right, by kind and of all. log: told each that is not."""
    seeds = (DEVELOPMENT_SEEDS if development else UNSEEN_SEEDS)[:per_kind]
    every: list[Judged] = []
    out: dict[str, float] = {}
    for kind in kinds:
        judged = [judge(kind, seed) for seed in seeds]
        for one in judged:
            if not (one.role_right and one.handles_right):
                log(one.told())
        out[f"proposals.real.{kind}.role_right"] = sum(one.role_right for one in judged) / len(judged)
        out[f"proposals.real.{kind}.handles_right"] = sum(one.handles_right for one in judged) / len(judged)
        every += judged
    out["proposals.real.pieces"] = float(len(every))
    out["proposals.real.role_right"] = sum(one.role_right for one in every) / len(every)
    out["proposals.real.handles_right"] = sum(one.handles_right for one in every) / len(every)
    out["proposals.real.both_right"] = sum(one.role_right and one.handles_right for one in every) / len(every)
    return out


def _fits(piece: Piece) -> bool:
    """Whether a person uses the piece as it is: a frame that hangs on the leaf cannot turn, a bar stool may be too
    high to sit down on, and stairs are too high for one climb."""
    if piece.kind in ("door_in_frame", "closed_stairs", "open_stairs"):
        return False
    if not isinstance(piece.handles, Seat):
        return True
    return piece.handles.place[2] - float(piece.mesh.vertices[:, 2].min()) <= SIT_HEIGHTS[1]
