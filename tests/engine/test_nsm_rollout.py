# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of the NSM's rollout: what the network proposes, how its two predictions blend, and what may be left out."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from nsm_blender.evaluation.nsm_components import component_names
from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.models.nsm import FPS, FUTURE, GOAL_ACTIONS, OUTPUT, SAMPLES
from nsm_blender.models.nsm_kernels import NSM
from nsm_blender.motion.root import direction, to_local
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.goal_spec import GoalSpec, Reach, Samples, Stay, Steer
from nsm_blender.rollout.nsm import (
    PARTS,
    ROOT_FILTERS,
    SEATED_PHASE,
    Options,
    SceneCharacter,
    SceneRecord,
    bidirectional,
    predicted,
)
from nsm_blender.rollout.nsm_network import load, standing_of
from nsm_blender.rollout.root_filter import Proposal

from .obstacles import box
from .puppets import Puppet, standing
from .test_doorway import leaf
from .test_speed_profile import walker

ROOT = np.array([2.0, -1.0, 0.3, 0.8])
W = np.arange(1, FUTURE + 1) / FUTURE
CRATE = box("Crate", (0.3, -1.2, 0.5), (0.6, 0.6, 1.0))


def output(
    velocity: tuple[float, float] = (0.0, 0.0), turn: float = 0.0, places: Array | None = None, facing: float = 0.0
) -> Array:
    """What a network gives of the root and its future, all in the root's frame."""
    y = np.zeros(OUTPUT.size)
    y[OUTPUT.root_velocity], y[OUTPUT.root_turn] = velocity, turn
    y[OUTPUT.trajectory_position] = 0 if places is None else places.ravel()
    y[OUTPUT.trajectory_direction] = np.tile(direction(np.array(facing)), FUTURE)
    y[OUTPUT.goal_trajectory_direction] = np.tile(direction(np.array(0.0)), FUTURE)
    return y


def goal_at(place: Array, facing: float = 0.0) -> Samples:
    """The same place (2,) and facing at all samples."""
    action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
    return Samples(np.tile([*place, 0.0], (SAMPLES, 1)), np.full(SAMPLES, facing), action)


def test_the_network_proposes_meters_and_radians_a_second_in_the_roots_frame() -> None:
    """Ahead is -Y of the root's frame."""
    new = predicted(output((0.0, -1.2), 0.6), ROOT).root
    np.testing.assert_allclose(new[:2], ROOT[:2] + 1.2 / FPS * direction(ROOT[3]))
    assert new[2] == ROOT[2] and new[3] == pytest.approx(ROOT[3] + 0.6 / FPS)
    assert ROOT[3] == 0.8, "the root that was is left as it is"


def test_the_network_proposes_a_future_in_the_frame_of_the_new_root() -> None:
    ahead = np.stack((0.1 * W, -1.3 * W), axis=1)
    proposal = predicted(output((0.5, -1.0), 3.0, ahead, 0.4), ROOT)
    assert proposal.places.shape == (FUTURE, 2) and proposal.facings.shape == (FUTURE,)
    np.testing.assert_allclose(to_local(proposal.places - proposal.root[:2], float(proposal.root[3])), ahead)
    np.testing.assert_allclose(proposal.facings, proposal.root[3] + 0.4)


def blended(goal: Array, beside: tuple[float, float], facing: float = 0.0) -> tuple[Array, Array, Proposal, Array]:
    """Places (6, 2) of the blend, those that the goal-centric prediction has, the egocentric proposal, and the pull.

    beside: meters from the goal, in its frame, at which the goal-centric prediction sees the root.
    """
    y = output(places=np.stack((0 * W, -1.3 * W), axis=1))
    y[OUTPUT.goal_trajectory_position] = np.tile(beside, FUTURE)
    proposal, samples = predicted(y, ROOT), goal_at(goal, facing)
    out, pull, _ = bidirectional(y, proposal, samples)
    there = goal - to_local(-np.array(beside), -facing)
    assert out.places.shape == (FUTURE, 2)
    np.testing.assert_array_equal(out.root, proposal.root)
    return out.places, np.tile(there, (FUTURE, 1)), proposal, pull


def test_at_the_goal_the_goal_centric_prediction_is_taken_in_full() -> None:
    goal = np.array([5.0, 3.0])
    places, there, *_ = blended(goal, (0.0, 0.0), 1.1)
    np.testing.assert_allclose(places, np.tile(goal, (FUTURE, 1)))
    np.testing.assert_allclose(there, places)


@pytest.mark.parametrize("facing", [0.0, 1.1, -2.0])
@pytest.mark.parametrize("meters", [0.5, 1.0, 2.0])
def test_the_share_of_the_goal_centric_prediction_is_w_to_the_squared_distance(meters: float, facing: float) -> None:
    places, there, proposal, pull = blended(np.array([5.0, 3.0]), (0.6 * meters, 0.8 * meters), facing)
    share = np.linalg.norm(places - proposal.places, axis=1) / np.linalg.norm(there - proposal.places, axis=1)
    np.testing.assert_allclose(share, W ** (meters**2), atol=1e-9)
    np.testing.assert_allclose(places[-1], there[-1], atol=1e-9)
    np.testing.assert_allclose(pull, places[-1] - proposal.places[-1])


def test_far_from_the_goal_the_egocentric_prediction_is_taken_up_to_the_last_sample() -> None:
    places, there, proposal, _ = blended(np.array([5.0, 3.0]), (0.0, 8.0))
    np.testing.assert_allclose(places[:-1], proposal.places[:-1], atol=1e-3)
    np.testing.assert_allclose(places[-1], there[-1])


def test_the_facing_comes_to_the_goal_centric_one_by_the_shorter_turn() -> None:
    y = output(facing=3.0 - ROOT[3])
    proposal, goal = predicted(y, ROOT), goal_at(ROOT[:2], -3.0)
    out, _, turn = bidirectional(y, proposal, goal)
    np.testing.assert_allclose(np.cos(out.facings + 3.0), 1, atol=1e-9)
    assert turn == pytest.approx(2 * math.pi - 6.0)


def character(goal: GoalSpec, network: NSM, options: Options | None = None) -> SceneCharacter:
    start = standing() if isinstance(network, Puppet) else standing_of(network)
    return SceneCharacter(network, start, np.zeros(4), Surroundings([CRATE, leaf(1.5)]), goal, options)


def acted(options: Options) -> SceneRecord:
    """The shipped network walks out of a doorway past a crate, stops, and sits down on nothing."""
    out = character(Steer(walker(2.0), door="leaf"), load(None), options)
    for frame in range(300):
        if frame == 120:
            out.set_goal(Stay(out.root[:3] + np.array([0.1, 0.1, 0.0]), 0.5))
        if frame == 240:
            out.set_goal(Reach(np.append(out.root[:2], 0.45), 0.5, "sit", standoff=0.0, speed=0.2))
        out.step()
    return out.record()


@pytest.fixture(scope="module")
def full() -> SceneRecord:
    return acted(Options())


def test_a_rollout_is_the_same_each_time(full: SceneRecord) -> None:
    again = acted(Options(without=frozenset()))
    np.testing.assert_array_equal(full.root, again.root)
    np.testing.assert_array_equal(full.places, again.places)


@pytest.mark.parametrize("name", [name for name in PARTS if name != SEATED_PHASE])
def test_each_part_may_be_left_out_by_its_name_and_does_something(name: str, full: SceneRecord) -> None:
    without = acted(Options(without=frozenset({name})))
    assert without.root.shape == full.root.shape and np.isfinite(without.places).all()
    assert not np.array_equal(without.places, full.places)


def test_without_any_part_the_root_goes_as_the_network_proposes() -> None:
    """The puppet asks for its full speed at once; with all parts it sets off from rest."""
    speeds = []
    for without in (frozenset(PARTS), frozenset[str]()):
        options = Options(bidirectional=False, without=without)
        walks = character(Stay(np.array([0.0, -3.0, 0.0])), Puppet(), options)
        walks.step()
        speeds.append(float(np.linalg.norm(walks.root[:2])) * FPS)
    assert speeds[0] == pytest.approx(Puppet().manners.speed, rel=1e-5)
    assert 0 < speeds[1] < 0.2


def test_in_a_seat_the_phase_comes_to_the_end_of_sitting_down_and_rests_there_until_the_character_rises() -> None:
    """The puppet's phase advances by half a cycle a second."""
    seats = character(Reach(np.array([0.0, 0.1, 0.45]), 0.0, "sit", standoff=0.0, speed=0.2), Puppet())
    for _ in range(5 * round(FPS)):
        seats.step()
    assert seats.phase == pytest.approx(2 * np.pi)
    seats.set_goal(Stay(np.array([0.0, -2.0, 0.0])))
    for _ in range(round(FPS)):
        seats.step()
    assert 0 < seats.phase < 1.1 * np.pi
    phases = seats.record().phase
    seated = np.flatnonzero(phases == phases.max())
    assert len(seated) > FPS
    assert np.diff(phases[: seated[0]]).min() > 0, "sitting down is not held up"


def test_without_that_part_the_phase_goes_on_in_a_seat() -> None:
    goal = Reach(np.array([0.0, 0.1, 0.45]), 0.0, "sit", standoff=0.0, speed=0.2)
    seats = character(goal, Puppet(), Options(without=frozenset({SEATED_PHASE})))
    for _ in range(5 * round(FPS)):
        seats.step()
    assert seats.phase == pytest.approx(np.pi, abs=0.1)


def test_the_table_leaves_out_every_root_filter() -> None:
    assert {*ROOT_FILTERS} < {*component_names()}


@pytest.mark.parametrize("goal", [lambda: Steer(walker()), lambda: Stay(np.array([0.2, 0.0, 0.0]))])
def test_a_fork_goes_on_as_its_character_would_and_leaves_it_as_it_is(goal: Callable[[], GoalSpec]) -> None:
    network = load(None)
    alone, forked = character(goal(), network), character(goal(), network)
    for _ in range(60):
        alone.step()
        forked.step()
    fork = forked.fork()
    for _ in range(40):
        fork.step()
        alone.step()
    np.testing.assert_array_equal(fork.root, alone.root)
    other = forked.fork()
    other.set_goal(Stay(np.array([3.0, 3.0, 0.0])))
    for _ in range(40):
        other.step()
        forked.step()
    np.testing.assert_array_equal(forked.root, alone.root)
    assert not np.array_equal(other.root, alone.root)


def test_a_character_comes_to_the_very_place_where_it_is_to_stand() -> None:
    """By the shipped network, from a step aside."""
    for aside in (-0.3, 0.3):
        stands = character(Stay(np.array([aside, 0.0, 0.0]), 0.0), load(None))
        for _ in range(300):
            stands.step()
        assert np.linalg.norm(stands.root[:2] - [aside, 0.0]) < 0.05


class Watching(Puppet):
    """Keeps what the environment sensor saw last."""

    def predict(self, frame: Array, goal: Array, interaction: Array, environment: Array, phase: float) -> Array:
        self.seen = environment.copy()
        return super().predict(frame, goal, interaction, environment, phase)


@pytest.mark.parametrize(("put", "shows"), [(True, False), (False, True)])
def test_a_box_in_the_hands_does_not_tell_where_these_are_while_it_is_put_down(put: bool, shows: bool) -> None:
    """The network would hold it where it is."""
    there = np.array([0.0, -1.5, 0.8, 1.0, 0.0, 0.0, 0.0])
    goal = Reach(there[:3], 0.0, "idle", "Crate", there if put else None)
    seen = []
    for height in (0.7, 1.1):
        watching = Watching()
        one = character(goal, watching)
        for _ in range(40):
            one.scenery.moved["Crate"] = np.array([one.root[0], one.root[1] - 0.4, height, 1.0, 0.0, 0.0, 0.0])
            one.step()
        seen.append(watching.seen)
    assert (np.abs(seen[0] - seen[1]).max() > 0.1) == shows
