# SPDX-License-Identifier: GPL-3.0-or-later
"""Footholds on ground: a stance is moved off an edge as little as can be, and lasts as long as the leg reaches it."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.cleanup.ground_footholds import FARTHEST, footholds_on_ground, reached_contacts
from nsm_blender.evaluation.pfnn_ground import cross, stairs
from nsm_blender.geometry.ground import Ground
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.paths import weights_folder
from nsm_blender.stepwise import finished

FRAMES = 60
ANKLE, TOE = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
LEFT = [CONTACT_JOINTS.index("LeftFoot"), CONTACT_JOINTS.index("LeftToe")]


def standing(x: float, height: float = 0.0) -> tuple[Array, Array, Array]:
    """Joint places, contacts and root of a left foot that stands along +x for a third of the frames, its ball at x."""
    places, contacts = np.zeros((FRAMES, len(MODEL_SKELETON), 3)), np.zeros((FRAMES, 4))
    places[:, ANKLE] = x - 0.12, 0.0, height + ANKLE_HEIGHT
    places[:, TOE] = x, 0.0, height + TOE_HEIGHT
    contacts[20:40, LEFT] = 1
    root = np.zeros((FRAMES, 4))
    root[:, 2] = height
    return places, contacts, root


def moved(x: float, ground: Ground, height: float = 0.0) -> float:
    """Meters along +x by which such a stance is moved."""
    places, contacts, root = standing(x, height)
    wanted = finished(footholds_on_ground(places, contacts, ground, root))
    shifts = wanted[20:40, TOE, 0] - x
    assert np.ptp(shifts) == 0, "a stance stands still"
    return float(shifts[0])


STEP = Ground.of([block((0.0, -1.0, 0.0), (3.0, 1.0, 0.18)).mesh])


@pytest.mark.parametrize("x", [-0.6, 0.6])
def test_a_foot_that_has_ground_under_all_of_its_sole_stays(x: float) -> None:
    assert moved(x, STEP) == 0


@pytest.mark.parametrize("x", [-0.04, 0.02, 0.1])
def test_a_foot_across_an_edge_comes_to_stand_on_one_side_of_it(x: float) -> None:
    shift = moved(x, STEP)
    assert 0 < abs(shift) <= FARTHEST
    sole = x + shift + np.array([-0.12, 0.0, 0.05])
    assert (sole < 0).all() or (sole > 0).all()


def test_a_foot_stays_on_an_even_slope() -> None:
    x = np.linspace(-2, 2, 41)
    ramp = Ground.from_heights(np.tile(0.4 * (x + 2), (41, 1)), (-2.0, -2.0), 0.1)
    assert moved(0.0, ramp, 0.8) == 0


def test_a_foot_goes_from_tread_to_tread_while_the_root_glides() -> None:
    places, contacts, root = standing(-0.6)
    contacts[50:, LEFT] = 1
    places[50:, [ANKLE, TOE], 0] += 1.2
    root[:, 2] = np.linspace(0, 0.18, FRAMES)
    places[..., 2] += root[:, None, 2]
    wanted = finished(footholds_on_ground(places, contacts, STEP, root))
    assert wanted[20:40, TOE, 2] == pytest.approx(TOE_HEIGHT), "on the floor, whatever the root does"
    assert wanted[50:, TOE, 2] == pytest.approx(TOE_HEIGHT + 0.18)


def test_a_foot_that_hangs_over_the_ground_does_not_stand_there_yet() -> None:
    places, contacts, _ = standing(-0.6)
    places[20:28, [ANKLE, TOE], 2] += 0.1
    reached = reached_contacts(places, contacts, STEP.height)
    assert not reached[:28, LEFT].any()
    assert reached[28:40, LEFT].all()


@pytest.mark.parametrize("gait", ["walk", "jog"])
def test_feet_stand_on_treads_and_not_across_their_edges(gait: str) -> None:
    crossing = cross(stairs(np.random.default_rng(3)), gait, weights_folder() / "pfnn.safetensors")
    assert crossing.depth.max() < 0.02
    assert np.percentile(crossing.height, 95) < 0.02
