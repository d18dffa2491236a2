# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate nsm --tables moved_goals`: seats told aside, with and without the interaction sensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsm_blender.evaluation.nsm_moved_goals import ASIDE, Sat, moved_goals_figures, sat
from nsm_blender.paths import weights_folder
from nsm_blender.rollout.nsm_network import FILE, load

from .trained_networks import refusal, write_networks


def write(folder: Path, seed: int, **settings: float) -> Path:
    """The two networks that are compared."""
    return write_networks(folder, seed, {"full": settings, "no_interaction": {"without": ["interaction"], **settings}})


def test_networks_that_learned_with_exact_goals_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "learned with exact goals; train them with --vague-goals" in refusal(
        "moved_goals", [write(tmp_path / "a", 1)], capsys
    )
    assert "name their folders" in refusal("moved_goals", [], capsys)
    vague = [write(tmp_path / name, 1, vague_goals=0.3) for name in "bc"]
    assert "same seed" in refusal("moved_goals", vague, capsys) and "same seed" in refusal(
        "moved_goals", vague[:1] * 2, capsys
    )


def test_the_sensor_is_worth_what_is_nearer_to_seats_that_are_told_aside() -> None:
    def training(full: float, without: float) -> dict[str, list[Sat]]:
        exact = [Sat(False, True, 5.0, 0.0)] * 3
        # Of four one passes by the seat and walks on.
        return {
            name: exact + [Sat(True, True, off, off)] * 3 + [Sat(True, False, 900.0, 900.0)]
            for name, off in (("full", full), ("no_interaction", without), ("no_sensors", 31.0))
        }

    figures = moved_goals_figures([training(10.0, 30.0)], lambda _: None)
    row = "nsm.moved_goals.no_interaction.moved"
    assert figures[f"{row}.farther_than_full_cm"] == pytest.approx(20.0)
    assert figures[f"{row}.finished"] == 0.75 and figures[f"{row}.along_cm"] == pytest.approx(30.0)
    assert figures["nsm.moved_goals.full.exact.off_cm"] == pytest.approx(5.0)
    figures = moved_goals_figures([training(10.0, 30.0), training(12.0, 28.0)], lambda _: None)
    assert figures[f"{row}.farther_than_full_cm"] == pytest.approx(18.0)
    assert figures[f"{row}.farther_than_full_cm.standard_error"] == pytest.approx(2.0)
    assert figures[f"{row}.trials"] == 8
    blind = "nsm.moved_goals.no_sensors.moved"
    assert figures[f"{blind}.farther_than_full_cm"] == pytest.approx(20.0)
    assert figures[f"{blind}.farther_than_no_interaction_cm"] == pytest.approx(2.0)


def test_where_the_shipped_network_sits_is_measured_from_the_seat_and_not_from_what_was_told() -> None:
    """It learned with exact goals, and goes where it is told."""
    found = [one for number in range(3) for one in sat(load(weights_folder() / FILE), number, 1, development=True)]
    assert [one.moved for one in found].count(True) == 2 * [one.moved for one in found].count(False)
    moved = [one for one in found if one.moved]
    assert np.median([one.along_cm for one in moved]) > 50 * ASIDE
    exact = np.median([one.off_cm for one in found if not one.moved])
    assert exact < np.median([one.off_cm for one in moved])
