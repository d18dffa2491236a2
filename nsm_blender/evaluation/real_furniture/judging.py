# SPDX-License-Identifier: GPL-3.0-or-later
"""Accuracy of guessed roles and proposed handles on furniture as modelers make it (`nsm-blender evaluate
proposals`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...geometry.furniture import Piece
from ...geometry.proposals import guess_role, propose
from ...geometry.reach import SIT_HEIGHTS
from ...geometry.roles import KINDS as ROLES_WITH_HANDLES
from ...geometry.roles import Proposal, Seat
from ...naturalness.case import DEVELOPMENT_SEEDS, UNSEEN_SEEDS
from ..proposals import difference
from .catalog import ALSO_RIGHT, KINDS, make

PER_KIND = 10
"""Number of pieces of each kind in the table."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdict on a piece.

    role: guessed from the mesh alone. wrong: the error of the handles proposed for its own role, "" if they are right.
    fit: whether the piece can be used as it is; if not, a warning is required and the handles do not count.
    """

    piece: Piece
    seed: int
    role: str
    found: Proposal
    wrong: str
    fit: bool

    @property
    def role_right(self) -> bool:
        """Whether the guessed role is the piece's own, or a role that its form suggests just as well."""
        return self.role in (self.piece.role, *ALSO_RIGHT.get(self.piece.kind, ()))

    @property
    def handles_right(self) -> bool:
        """Whether the handles are right without a warning on a piece that fits, or a warning is given for a piece that
        does not."""
        return not self.wrong and not self.found.warnings if self.fit else bool(self.found.warnings)

    def sentence(self) -> str:
        """The piece's errors, in a line."""
        role = "" if self.role_right else f"taken for a {self.role}; "
        wrong = self.wrong if self.fit else "" if self.found.warnings else "no warning"
        return f"{self.piece.kind} {self.seed}: {role}{wrong or 'handles right'}; {' '.join(self.found.warnings)}"


def judge(kind: str, seed: int) -> Judged:
    """Guess the role of a piece and propose handles for its own role, as for a lone mesh in a scene."""
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
    """Shares of the pieces with the right role and the right handles, by kind and over all. log: receives each wrong
    piece."""
    seeds = (DEVELOPMENT_SEEDS if development else UNSEEN_SEEDS)[:per_kind]
    every: list[Judged] = []
    out: dict[str, float] = {}
    for kind in kinds:
        judged = [judge(kind, seed) for seed in seeds]
        for result in judged:
            if not (result.role_right and result.handles_right):
                log(result.sentence())
        out[f"proposals.real.{kind}.role_right"] = sum(result.role_right for result in judged) / len(judged)
        out[f"proposals.real.{kind}.handles_right"] = sum(result.handles_right for result in judged) / len(judged)
        every += judged
    out["proposals.real.pieces"] = float(len(every))
    out["proposals.real.role_right"] = sum(result.role_right for result in every) / len(every)
    out["proposals.real.handles_right"] = sum(result.handles_right for result in every) / len(every)
    out["proposals.real.both_right"] = sum(result.role_right and result.handles_right for result in every) / len(every)
    return out


def _fits(piece: Piece) -> bool:
    """Whether a person can use the piece as it is: a frame that hangs on the leaf cannot turn, a bar stool may be too
    high to sit down on, and stairs are too high for a single climb."""
    if piece.kind in ("door_in_frame", "closed_stairs", "open_stairs"):
        return False
    if not isinstance(piece.handles, Seat):
        return True
    return piece.handles.place[2] - float(piece.mesh.vertices[:, 2].min()) <= SIT_HEIGHTS[1]
