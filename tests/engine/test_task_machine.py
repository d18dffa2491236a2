# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys by the NSM: done one after the other, or reported with the reason why not."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.errors import ShotError
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Carryable, Climbable, Seat, Surface
from nsm_blender.motion.motion import Motion
from nsm_blender.rollout.nsm import Options
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.arrival_times import foresee
from nsm_blender.tasks.climb import is_up
from nsm_blender.tasks.validation import check

from .puppets import Manners, Puppet

OPTIONS = Options(bidirectional=False)
AT = {"chair": [2.0, -2.0], "box": [-1.5, -2.0], "table": [1.5, 2.5]}


def cuboid(low: list[float], high: list[float]) -> Cuboids:
    a, b = np.array([low]), np.array([high])
    return Cuboids((a + b) / 2, (b - a) / 2)


def thing(name: str, cuboids: Cuboids, role: str, handles: Seat | Carryable | Surface) -> Collider:
    return Collider(name, cuboids, np.array([[*AT[name], 0.0, 1.0, 0, 0, 0]]), role, handles)


CHAIR = thing("chair", cuboid([-0.2, -0.2, 0.0], [0.2, 0.2, 0.45]), "seat", Seat([0, 0, 0.45], [0, -1, 0], 0.4, 0.4))
BOX = thing(
    "box",
    cuboid([-0.18, -0.1, 0.0], [0.18, 0.1, 0.2]),
    "carryable",
    Carryable([0.18, 0, 0.1], [-0.18, 0, 0.1], [0, 1, 0]),
)
TABLE = thing(
    "table", cuboid([-0.5, -0.3, 0.0], [0.5, 0.3, 0.7]), "surface", Surface([0, 0, 0.7], [0, -1, 0], 1.0, 0.6)
)
GOALS = [
    Goal("door", [0.0, -1.5, 0.0], 0.0),
    *(Goal(f"on {name}", [*place, 0.0], None, name) for name, place in AT.items()),
]


def shot(*keys: ActionKey, seconds: float = 20.0, fps: float = 30.0) -> Shot:
    return Shot(
        "actor", fps, round(seconds * fps), keys=list(keys), goals=GOALS, colliders=[CHAIR, BOX, TABLE], start=[0.0] * 4
    )


@lru_cache
def played() -> Motion:
    """Walk, sit down, get up, take the box to the table."""
    keys = [
        ActionKey("walk", "door"),
        ActionKey("sit", "on chair", hold=0.5),
        ActionKey("pick_up", "on box"),
        ActionKey("put_down", "on table"),
        ActionKey("walk", "door"),
    ]
    return SceneBake(shot(*keys, seconds=30.0), Puppet(), OPTIONS).motion()


def test_keys_are_done_one_after_the_other() -> None:
    keys = played().meta["keys"]
    assert [key["trouble"] for key in keys] == [""] * 5
    for before, after in pairwise(keys):
        assert before["set_off"] <= before["arrived"] <= before["done"] <= after["set_off"]
    held = keys[1]["done"] - keys[1]["arrived"]
    assert held == pytest.approx(0.5 * 30, abs=1)


def test_the_character_sits_on_the_seat_and_gets_up_again() -> None:
    motion = played()
    sat = motion.meta["keys"][1]
    hips = motion.positions[:, motion.names.index("Hips")]
    np.testing.assert_allclose(hips[sat["arrived"], :2], AT["chair"], atol=0.03)
    assert hips[sat["arrived"], 2] < 0.7 < hips[sat["done"] + 45, 2]


def test_the_box_moves_with_the_hands_and_stays_where_it_is_put() -> None:
    motion = played()
    poses = np.array(motion.meta["things"]["box"])
    assert len(poses) == len(motion) and set(motion.meta["things"]) == {"box"}
    taken, left = motion.meta["keys"][2], motion.meta["keys"][3]
    np.testing.assert_allclose(poses[: taken["set_off"], :3], [[*AT["box"], 0.0]] * taken["set_off"], atol=1e-4)
    carried = slice(taken["done"], left["arrived"] - 60)
    wrists = motion.positions[carried][:, [motion.names.index(n) for n in ("LeftHand", "RightHand")]].mean(1)
    assert np.linalg.norm(poses[carried, :2] - wrists[:, :2], axis=1).max() < 0.15
    after = poses[left["done"] :]
    assert np.ptp(after, axis=0).max() < 1e-4
    assert after[0, 2] == pytest.approx(0.7, abs=0.01)
    assert abs(after[0, 0] - AT["table"][0]) < 0.5 and abs(after[0, 1] - AT["table"][1]) < 0.3


def test_a_character_that_gets_nowhere_is_reported_and_goes_on_with_the_next_key() -> None:
    motion = SceneBake(
        shot(ActionKey("sit", "on chair"), ActionKey("idle"), seconds=30.0), Puppet(Manners(speed=0.0)), OPTIONS
    ).motion()
    stuck, next_one = motion.meta["keys"]
    assert "stop" in stuck["trouble"] and stuck["arrived"] is None
    assert next_one["trouble"] == "" and next_one["done"] > stuck["done"] - 1


def test_what_the_end_of_the_shot_cuts_off_is_told() -> None:
    motion = SceneBake(shot(ActionKey("sit", "on chair"), seconds=1.0), Puppet(), OPTIONS).motion()
    assert "ends before" in motion.meta["keys"][0]["trouble"]


def test_weights_that_cannot_do_a_key_refuse_it() -> None:
    with pytest.raises(ShotError, match="Sitting down is beyond"):
        SceneBake(shot(ActionKey("sit", "on chair")), Puppet(actions=["idle", "walk", "run"]))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([ActionKey("put_down", "on table")], "hands of the character are empty"),
        ([ActionKey("pick_up", "on box"), ActionKey("pick_up", "on box")], "still holds 'box'"),
    ],
)
def test_hands_that_are_empty_or_full_are_found_before_the_bake(keys: list[ActionKey], said: str) -> None:
    with pytest.raises(ShotError, match=said):
        SceneBake(shot(*keys), Puppet())


STEPS = np.array([[[-0.6, -1.0, 0.0], [0.6, -0.6, 0.2]], [[-0.6, -2.2, 0.0], [0.6, -1.0, 0.4]]])
FLIGHT = Collider(
    "flight",
    Cuboids(STEPS.mean(1), (STEPS[:, 1] - STEPS[:, 0]) / 2),
    role="climbable",
    handles=Climbable([0, -1.0, 0.4], [0, -1, 0], [0, -1.35, 0.4], 1.2),
)
CLIMBER = ["idle", "walk", "run", "climb"]


def climbs(*keys: ActionKey) -> Shot:
    goals = [Goal("top", [0.0, 0.0, 0.0], None, "flight"), Goal("beside", [2.5, -1.5, 0.0])]
    start = [0.0, 1.0, 0.0, 0.0]
    return Shot("actor", 30.0, 600, keys=list(keys), goals=goals, colliders=[FLIGHT], start=start)


def test_the_character_climbs_a_flight_and_comes_down_over_its_steps() -> None:
    both = climbs(ActionKey("climb", "top"), ActionKey("walk", "beside"))
    motion = SceneBake(both, Puppet(actions=CLIMBER), OPTIONS).motion()
    up, down = motion.meta["keys"]
    assert not up["trouble"] and not down["trouble"]
    assert motion.root[up["arrived"], 2] == pytest.approx(0.4, abs=0.05)
    assert motion.root[down["done"] - 1, 2] == 0.0
    high = motion.root[:, 2] > 0.05
    assert np.abs(motion.root[high, 0]).max() < 0.4


def test_what_is_too_high_for_the_legs_is_climbed_at_the_pace_of_hands_and_knees_as_was_foreseen() -> None:
    took, foreseen = [], []
    for high in (0.6, 0.85):
        half = np.array([[0.6, 0.8, high / 2]])
        stage = replace(
            FLIGHT,
            cuboids=Cuboids(np.array([[0.0, -1.8, high / 2]]), half),
            handles=Climbable([0, -1.0, high], [0, -1, 0], [0, -1.35, high], 1.2),
        )
        up = replace(climbs(ActionKey("climb", "top")), colliders=[stage])
        assert not check(up, CLIMBER)
        motion = SceneBake(up, Puppet(actions=CLIMBER), OPTIONS).motion()
        (key,) = motion.meta["keys"]
        assert not key["trouble"] and motion.root[key["arrived"], 2] > high - 0.15
        took.append(key["done"] / up.fps)
        foreseen.append(foresee(up, CLIMBER)[0].done / up.fps)
    assert took[1] - took[0] > 1.5
    assert foreseen[1] - foreseen[0] > 3.0


def test_a_character_that_is_up_there_stays_when_it_is_to_climb_again_and_the_check_says_it() -> None:
    up = ActionKey("climb", "top")
    thrice = climbs(up, ActionKey("climb", "top", hold=1.0), ActionKey("walk", "beside"), up)
    told = [problem for problem in check(thrice, CLIMBER) if "up there by then" in problem.text]
    assert [(problem.key, problem.fatal) for problem in told] == [(1, False)]
    motion = SceneBake(thrice, Puppet(actions=CLIMBER), OPTIONS).motion()
    first, again, down, last = motion.meta["keys"]
    assert [key["trouble"] for key in motion.meta["keys"]] == [""] * 4
    assert 30 <= again["done"] - first["done"] < 35
    stays = motion.root[first["done"] : again["done"]]
    assert np.linalg.norm(stays[:, :2] - stays[0, :2], axis=1).max() < 0.1
    # He came down in between.
    assert motion.root[down["done"] - 1, 2] == 0.0
    assert last["done"] - down["done"] > 30 and motion.root[last["done"] - 1, 2] == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(("y", "up"), [(-0.4, False), (-0.8, False), (-1.1, True), (-2.1, True), (-2.3, False)])
def test_the_character_is_up_on_top_and_not_on_a_lower_step(y: float, up: bool) -> None:
    assert is_up(np.array([0.1, y]), FLIGHT, FLIGHT.poses[0]) is up
