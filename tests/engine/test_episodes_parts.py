# SPDX-License-Identifier: GPL-3.0-or-later
"""Training sets in parts: how they are shared out, and that an interrupted one is gone on with."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.models.nsm import ACTIONS, FPS
from nsm_blender.training.episodes.avoid_episodes import avoid_episode
from nsm_blender.training.episodes.episode import Episode
from nsm_blender.training.episodes.library import Tally
from nsm_blender.training.episodes.parts import SHARES, TALLY, WALKS, Recipe, compose
from nsm_blender.training.episodes.rolled_out import at_rest, rolled_out_tracks
from nsm_blender.training.nsm_data import KINDS


def recipe(folder: Path, count: int = 500) -> Recipe:
    return Recipe(folder, count, frozenset())


def test_every_kind_gets_its_share(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    for kind, _, episodes in recipe(tmp_path).parts():
        asked[kind] += episodes
    assert set(asked) == set(KINDS)
    assert all(abs(asked[kind] - 500 * SHARES[kind]) <= 1 for kind in KINDS)


def test_parts_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    asked = recipe(tmp_path / "no recordings", 60)
    (tmp_path / WALKS).write_bytes(b"not read")
    for kind, number, episodes in asked.parts():
        folder = tmp_path / f"{kind}_{number:03d}"
        folder.mkdir()
        tally = Tally({"walk": 0.5}, {"walk": 1.0}, Counter({kind: episodes}), Counter({"jerk": 1}))
        (folder / TALLY).write_text(tally.to_json())
    total = compose(asked, tmp_path)
    assert sum(total.episodes.values()) == 60
    assert total.composed["walk"] == len(asked.parts()) and total.rejected["jerk"] == len(asked.parts())
    assert (tmp_path / TALLY).exists()


def test_the_networks_own_ways_end_where_it_begins_to_use_a_thing_or_comes_to_rest() -> None:
    tracks = rolled_out_tracks(None, 8, seed=4)
    carrying = [track for track in tracks if track.actions[:, ACTIONS.index("carry")].any()]
    assert carrying and all(track.actions[:, ACTIONS.index("carry")].all() for track in carrying)
    free = [track for track in tracks if not track.actions[:, ACTIONS.index("carry")].any()]
    away = np.array([np.linalg.norm(track.root()[[0, -1], :2], axis=1) for track in free])
    assert len(away) >= 2 and np.mean(away[:, 1] < away[:, 0]) > 0.5
    for track in tracks:
        actions = track.actions.sum(0)
        assert actions[[ACTIONS.index("idle"), ACTIONS.index("walk"), ACTIONS.index("run")]].sum() == len(track)


@pytest.mark.parametrize("stands", [0.0, 0.5, 6.0])
def test_a_way_ends_a_moment_after_the_character_has_come_to_rest(stands: float) -> None:
    """As one that went on while it stalls would teach to stall."""
    walked, sway = np.arange(2 * FPS) / FPS, 0.01 * np.sin(np.arange(stands * FPS) / FPS * 5)
    along = np.concatenate((walked, walked[-1] + sway))
    ends = at_rest(np.stack((along, 0 * along), axis=1), np.random.default_rng(0)) / FPS
    assert min(1.8, 2.0 + stands) <= ends <= min(2.6, 2.0 + stands)


def test_low_openings_are_gone_under() -> None:
    made = (avoid_episode(np.random.default_rng(seed), "avoid") for seed in (2, 3, 8))
    episode = next(found for found in made if isinstance(found, Episode) and "opening" in found.colliders[0].name)
    opening = episode.colliders[0]
    lintel = opening.cuboids.center[:, 2] - opening.cuboids.half[:, 2]
    under = float(lintel.max())
    away = np.linalg.norm(episode.track.hips[:, :2] - opening.poses[0, :2], axis=1)
    places = episode.track.positions()
    assert away.min() < 0.1 and under < 1.75
    assert places[away < 0.1, :, 2].max() + 0.2 < under < places[away > 2.0, :, 2].max() + 0.2
