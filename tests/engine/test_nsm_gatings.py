# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate nsm --tables gatings`: walks to seats, with and without the Kronecker product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsm_blender.evaluation.nsm_gatings import Walked, gatings_figures, walked
from nsm_blender.evaluation.nsm_plain import Plain
from nsm_blender.paths import weights_folder
from nsm_blender.rollout.nsm_network import FILE, load

from .trained_networks import refusal, write_networks


def write(folder: Path, seed: int, other: str = "concatenation") -> Path:
    """The two networks that are compared."""
    return write_networks(folder, seed, {"full": {}, "concatenation": {"gating": other}})


def test_networks_that_were_not_trained_alike_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "name their folders" in refusal("gatings", [], capsys)
    assert "train it as nsm with concatenation" in refusal("gatings", [write(tmp_path / "a", 1, "kronecker")], capsys)
    assert "same seed" in refusal("gatings", [write(tmp_path / name, 1) for name in "bc"], capsys)


def plain(done: bool, slide: float, moved_cm: float) -> Plain:
    return Plain("sit", done, 5.0, 1.0, 9.0, slide, np.zeros(3), np.full((3, 2), moved_cm / 100))


def test_the_product_is_worth_what_the_feet_slide_less_with_it() -> None:
    def training(full: float, other: float) -> dict[str, list[Walked]]:
        return {
            "full": [Walked(plain(True, full, 2.0), 0.6)] * 4,
            "concatenation": [Walked(plain(True, other, 3.0), 0.2)] * 3 + [Walked(plain(False, other, 3.0), None)],
        }

    row = "nsm.gatings.concatenation"
    figures = gatings_figures([training(10.0, 14.0)], lambda _: None)
    assert figures[f"{row}.slides_more_than_full_cm_per_s"] == pytest.approx(4.0)
    assert figures[f"{row}.finished"] == 0.75 and figures[f"{row}.gates_by_phase"] == pytest.approx(0.2)
    figures = gatings_figures([training(10.0, 14.0), training(12.0, 18.0)], lambda _: None)
    assert figures[f"{row}.slides_more_than_full_cm_per_s"] == pytest.approx(5.0)
    assert figures[f"{row}.slides_more_than_full_cm_per_s.standard_error"] == pytest.approx(1.0)
    assert figures[f"{row}.moved_more_cm"] == pytest.approx(1.0)
    assert figures[f"{row}.trials"] == 8 and figures["nsm.gatings.full.finished.standard_error"] == 0


def test_the_shipped_networks_walks_are_measured() -> None:
    found = [one for number in range(2) for one in walked(load(weights_folder() / FILE), number, 1, development=True)]
    assert len(found) == 2 and all(one.plain.done for one in found)
    for one in found:
        assert one.by_phase is not None and 0 < one.by_phase < 1
        assert 0 < one.plain.low_slide_cm_per_s < 100
