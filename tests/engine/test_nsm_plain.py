# SPDX-License-Identifier: GPL-3.0-or-later
"""What the network does alone is measured before the clean-up, without root filters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.evaluation import nsm_plain
from nsm_blender.evaluation.naturalness import table
from nsm_blender.evaluation.nsm_heights import put_shot
from nsm_blender.evaluation.nsm_plain import PLAIN, Plain, plain_figures, plain_puts, plain_trials
from nsm_blender.evaluation.nsm_trials import SEATS, pieces, sit_shot
from nsm_blender.naturalness.case import Case
from nsm_blender.naturalness.metrics import foot_slide
from nsm_blender.rollout.nsm import ROOT_FILTERS
from nsm_blender.rollout.nsm_network import load
from nsm_blender.shot.shot import Shot


def seat_shot() -> Shot:
    return sit_shot(pieces(SEATS, 1, development=True)[0], np.random.default_rng(2))


def test_uncleaned_joints_are_the_networks_at_the_frames_of_the_shot() -> None:
    shot = replace(seat_shot(), fps=30.0, frames=180)
    bake = SceneBake(shot)
    finished, network = bake.motion(), bake.uncleaned()
    assert len(network) == len(finished) == 180 and network.meta == finished.meta
    np.testing.assert_allclose(network.positions, bake.record().places[:360:2], atol=1e-4)
    assert np.array_equal(network.contacts, finished.contacts)
    assert foot_slide(network) > 2 * foot_slide(finished)


def test_uncleaned_joints_follow_the_clock_of_keys_that_arrive_in_time() -> None:
    shot = seat_shot()
    (key,) = shot.keys
    arrive = 320
    bake = SceneBake(replace(shot, keys=[replace(key, arrive=arrive)]))
    finished, network = bake.motion().positions[:arrive], bake.uncleaned().positions[:arrive]
    own_clock = bake.record().places[:arrive]
    # At the same moments only the clean-up lies between them; the rollout's own frames are of other moments.
    off, apart = (np.linalg.norm(finished - one, axis=-1).mean() for one in (network, own_clock))
    assert off < 0.5 * apart


def test_the_plain_rollout_has_no_root_filter() -> None:
    assert PLAIN.without == set(ROOT_FILTERS) and PLAIN.bidirectional
    (trial,) = plain_trials(load(None), "sit", 0, 1, development=True)
    assert trial.kind == "sit" and trial.moved.shape[1] == 22 and trial.slide_cm_per_s > 0


def test_errors_are_of_what_was_done_and_the_clean_up_of_all_frames() -> None:
    def plain(kind: str, done: bool, off: float | None, moved: float, depth: float = 0.0) -> Plain:
        return Plain(kind, done, off, off, 3.0, 1.5, np.full(10, depth), np.full((10, 22), moved))

    figures = plain_figures(
        [plain("sit", True, 2.0, 0.01), plain("sit", True, 4.0, 0.03), plain("sit", False, None, 0.05),
         plain("room", True, None, 0.0), plain("room", False, None, 0.0, 0.2)],
        lambda line: None,
    )  # fmt: skip
    assert figures["nsm.plain.precision.sit.finished"] == pytest.approx(2 / 3)
    assert figures["nsm.plain.precision.sit.pe_cm"] == 3.0 and figures["nsm.plain.precision.sit.re_deg.max"] == 4.0
    assert figures["nsm.plain.moved_cm.sit.mean"] == pytest.approx(3.0)
    assert figures["nsm.plain.moved_cm.sit.p95"] == pytest.approx(5.0)
    assert figures["nsm.plain.success.rate"] == 0.5
    assert figures["nsm.plain.penetration_cm.room.p99"] == pytest.approx(20.0)
    assert figures["nsm.plain.foot_slide_cm_per_s.sit"] == 3.0
    assert figures["nsm.plain.foot_slide_cm_per_s.sit_low"] == 1.5


def test_what_is_refused_is_not_done_and_does_not_slide_less(monkeypatch: pytest.MonkeyPatch) -> None:
    _, shot = put_shot(0, development=True)
    impossible = replace(shot, colliders=[])
    monkeypatch.setattr(nsm_plain, "put_shot", lambda number, development: (0.0, impossible))
    refused = plain_puts(load(None), [0], development=True)
    done = Plain("put_down", True, 5.0, 1.0, 4.0, 2.0, np.zeros(10), np.zeros((10, 22)))
    figures = plain_figures([*refused, done], lambda line: None)
    assert figures["nsm.plain.precision.put_down.finished"] == 0.5
    assert figures["nsm.plain.foot_slide_cm_per_s.put_down"] == 4.0
    assert plain_figures(refused, lambda line: None) == {"nsm.plain.precision.put_down.finished": 0.0}


def test_the_table_of_naturalness_measures_the_network_alone() -> None:
    case = Case("sit", 1, seat_shot())
    finished, alone = table.carried_out(case), table.carried_out(case, plain=True)
    assert finished.state == "baked" and alone.state in ("baked", "not done")
    assert alone.values and alone.values != finished.values
