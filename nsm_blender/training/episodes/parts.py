# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole training set, written part by part by several processes, on one machine or many; what is there already is not
made again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...files import make_folder, read_json, write_whole
from ...motion.clip_file import CLIPS_FOLDER, INDEX_NAME
from ...rollout.nsm_network import load
from ...workers import each
from ..nsm_data import pack
from .idle_shuffle import idle_shuffle_tracks
from .library import Library, Tally
from .pool import walked_tracks
from .rolled_out import rolled_out_tracks
from .track import load_tracks, save_tracks

SHARES: Mapping[str, float] = {"walk": 0.22, "sit": 0.26, "carry": 0.22, "open": 0.1, "climb": 0.08, "avoid": 0.12}
"""Share of each kind in the episodes of a balanced set."""
PER_PART = 20
"""Episodes in a part: a few minutes of work, which is what an interruption costs."""
WALKS = "walks.npz"
"""File of the walks that approaches are taken from."""
OWN_WAYS = "own_ways.npz"
"""File of the ways of the network that learns, where any were asked for."""
TALLY = "tally.json"
"""File of what was composed and rejected, in each part and for all."""
RECIPE = "recipe.json"
"""File that tells what the parts of a folder are made of, since only the same may be added to them."""


@dataclass(frozen=True)
class Recipe:
    """What a training set is made of. data: folder with the recordings. count: episodes in all, shared out by
    `shares`. test_subjects: performers that are left out. walks: of the PFNN, from which approaches are taken: as many
    long ones as short ones from place to place. rollouts: ways of the NSM of these weights (by default the shipped
    ones) from which approaches are taken, too."""

    data: Path
    count: int
    test_subjects: frozenset[str]
    walks: int = 40
    seed: int = 1
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)
    rollouts: int = 0
    weights: Path | None = None

    def parts(self) -> list[tuple[str, int, int]]:
        """Kind, number and episodes of each part, the kinds taking turns."""
        out = []
        for kind, share in self.shares.items():
            left, number = round(self.count * share / sum(self.shares.values())), 0
            while left > 0:
                out.append((kind, number, min(left, PER_PART)))
                left, number = left - PER_PART, number + 1
        return sorted(out, key=lambda part: part[1])

    def ingredients(self) -> dict[str, Any]:
        """What decides how a part comes out: another count or other shares only make more or fewer of them."""
        told = hashlib.sha256()
        beside = (self.data / CLIPS_FOLDER).glob("*.json")
        for path in [self.data / INDEX_NAME, *sorted(beside)]:
            told.update(path.name.encode() + path.read_bytes())
        left_out = sorted(self.test_subjects)
        out = {"seed": self.seed, "walks": self.walks, "left_out": left_out, "data": told.hexdigest()[:16]}
        if self.rollouts:
            out |= {"rollouts": self.rollouts, "weights": load(self.weights).hash}
        return out


def compose(recipe: Recipe, out: Path, processes: int = 2, cluster: str | None = None) -> Tally:
    """Write `out`/KIND_NUMBER/ with the arrays of `nsm_data.Packed`, unless nothing came out good enough, and a tally
    for every part that is not there yet.

    Returns the tally of all parts, which is written to `out` too. An interrupted run is gone on with by the same call.
    cluster: address of a Dask scheduler whose workers compose instead of processes here, see `workers.each`. Raises
    UserError when there are parts that were made of something else.
    """
    make_folder(out)
    _keep_to(recipe, out / RECIPE)
    walks = out / WALKS
    if not walks.exists():
        made = [*walked_tracks(recipe.walks, recipe.seed), *idle_shuffle_tracks(recipe.walks, recipe.seed)]
        save_tracks(walks, made)
    if recipe.rollouts and not (out / OWN_WAYS).exists():
        own = rolled_out_tracks(
            recipe.weights, recipe.rollouts, recipe.seed, processes, cluster, frozenset(recipe.shares)
        )
        save_tracks(out / OWN_WAYS, [*own, *(track.mirrored() for track in own)])
    missing = [part for part in recipe.parts() if not (_folder(out, part) / TALLY).exists()]
    # Workers elsewhere have another working folder.
    work = partial(_make, replace(recipe, data=recipe.data.absolute()), out.absolute())
    for _ in each(work, missing, processes, cluster):
        pass
    total = Tally.joined([_folder(out, part) / TALLY for part in recipe.parts()])
    write_whole(out / TALLY, total.to_json())
    return total


def _keep_to(recipe: Recipe, path: Path) -> None:
    if not (recipe.data / INDEX_NAME).exists():
        return
    wanted = recipe.ingredients()
    if path.exists() and read_json(path, dict, "the recipe of composed episodes") != wanted:
        raise UserError(
            f"{path.parent}: its episodes were composed of other recordings, performers, walks or with another seed; "
            "choose another folder, or remove it."
        )
    write_whole(path, json.dumps(wanted, indent=1) + "\n")


def _folder(out: Path, part: tuple[str, int, int]) -> Path:
    return out / f"{part[0]}_{part[1]:03d}"


class _Worker:
    """What one process keeps between parts. library: of the recordings of `made_of`."""

    library: Library
    made_of: tuple[Recipe, Path] | None = None


def _make(recipe: Recipe, out: Path, part: tuple[str, int, int]) -> None:
    """Make a part, under another name until it is whole."""
    if _Worker.made_of != (recipe, out):
        walked = load_tracks(out / WALKS)
        own = load_tracks(out / OWN_WAYS) if recipe.rollouts else []
        _Worker.library = Library(recipe.data, recipe.test_subjects, recipe.walks, recipe.seed, walked, own)
        _Worker.made_of = recipe, out
    library, folder = _Worker.library, _folder(out, part)
    kind, number, count = part
    library.tally = Tally()
    unfinished = folder.with_name(folder.name + "_unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    episodes = list(library.episodes(kind, count, number))
    # Where all were rejected, the tally says why.
    if episodes:
        pack(episodes, recipe.seed + number).save(unfinished)
    write_whole(unfinished / TALLY, library.tally.to_json())
    unfinished.rename(folder)
