# SPDX-License-Identifier: GPL-3.0-or-later
"""Sits that were recorded, composed on other furniture: no legs are in it, before, while and after sitting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsm_blender.geometry.body import depth
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.training.episodes.episode import Episode
from nsm_blender.training.episodes.pool import Pool
from nsm_blender.training.episodes.reach import reaching
from nsm_blender.training.episodes.sit_episodes import sit_episode
from nsm_blender.training.episodes.sitting import Sit, recorded_sits
from nsm_blender.training.episodes.track import Track

from .captures import HIP_JOINTS, SEATED, clip_of, keep, sits_down
from .test_episodes import come_and_go

DEEPEST = 0.02
"""Meters of a body in a thing that cannot be seen."""
_SIDES = ("Left", "Right")
_STANDS = 3.6
"""Seconds after which an approach has come to standing, or nearly so."""


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool([come_and_go(turn) for turn in (-2.0, 0.0, 2.0)])


def sit_of(folder: Path, lower: float = 0.0, back: float = 0.0, stays: float = 0.0) -> Sit:
    """A character that sits on a seat that is not told. lower: meters lower than a chair; back: meters by which the
    feet are drawn in under the seat; stays: seconds longer."""
    track, _ = sits_down(come_and_go(0.0))
    seated = np.zeros((len(track), 3))
    middle = slice(round((SEATED[0] - 1.2) * 60), round((SEATED[1] + 1.2) * 60))
    ramp = np.clip(np.minimum(np.arange(len(track)) - middle.start, middle.stop - np.arange(len(track))) / 60, 0, 1)
    seated[:, 2] = -lower * ramp
    ankles = {side: track.positions()[:, MODEL_SKELETON.index(side + "Foot")] for side in _SIDES}
    facing = track.root()[360, 3]
    behind = np.array([-np.sin(facing), np.cos(facing), 0.0])
    track = reaching(track, seated, {}, {side: place + back * ramp[:, None] * behind for side, place in ankles.items()})
    # Without the way there, which led through the seat.
    track = track.cut(round(_STANDS * 60), len(track))
    middle_frame = round((sum(SEATED) / 2 - _STANDS) * 60)
    times = np.ones(len(track), dtype=int)
    times[middle_frame] += round(stays * 60)
    track = Track(**{name: np.repeat(value, times, axis=0) for name, value in vars(track).items()})
    keep(folder, clip_of(track, "sits", "ben", ("sit",)))
    (sit,) = recorded_sits(folder)
    return sit


def made(pool: Pool, sit: Sit, count: int) -> list[Episode]:
    found = (sit_episode(pool, [sit], np.random.default_rng(seed), "sit") for seed in range(count))
    return [one for one in found if isinstance(one, Episode)]


def seated_frames(episode: Episode) -> Array:
    return np.flatnonzero(episode.touching[:, 2] > 0.5)


def test_a_sitting_body_has_its_legs_before_the_seat_and_not_in_it(tmp_path: Path, pool: Pool) -> None:
    # On a chair the feet were under the seat, where other furniture is solid.
    episodes = made(pool, sit_of(tmp_path, back=0.3), 30)
    assert len(episodes) >= 10
    for episode in episodes:
        seat = [episode.colliders[0].name]
        places, around = episode.track.positions(), episode.surroundings()
        assert max(depth(places[f], f, around, seat, True, False) for f in seated_frames(episode)[::3]) <= DEEPEST


@pytest.mark.parametrize(("lower", "stays", "heights"), [(0.23, 0.0, (0.1, 0.27)), (-0.22, 6.0, (0.63, 0.75))])
def test_a_pouf_and_a_bar_stool_that_were_recorded_give_such_seats(
    tmp_path: Path, pool: Pool, lower: float, stays: float, heights: tuple[float, float]
) -> None:
    # A sitter on a high stool has the hips in the upper half of the clip most of the time.
    sit = sit_of(tmp_path, lower, stays=stays)
    assert heights[0] < sit.seat_height < heights[1]
    episodes = made(pool, sit, 12)
    assert len(episodes) >= 4
    for episode in episodes:
        seat = episode.colliders[0].handles
        assert seat is not None and abs(seat.place[2] - sit.seat_height) < 0.1
        hips = episode.track.positions()[seated_frames(episode)][:, HIP_JOINTS, 2].mean()
        assert hips == pytest.approx(seat.place[2] + SEAT_BELOW_HIP_JOINTS, abs=0.02)
