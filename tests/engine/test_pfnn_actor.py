# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys carried out with the shipped weights: what an animator may rely on."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.cleanup.overhead_clearance import CROWN, SPARE, sinking
from nsm_blender.cli import main
from nsm_blender.errors import ShotError
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.roles import Seat
from nsm_blender.models.pfnn import FPS as FPS_INSIDE
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.naturalness.metrics import foot_slide
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.arrival_times import foresee

from .obstacles import box, pen, sliding, wall

FPS = 30.0
BODY = 0.25
"""Meters: half the width of the character."""


def shot(keys: list[ActionKey], goals: list[Goal], things: list[Collider], seconds: float, **more: Any) -> Shot:
    start = more.pop("start", [-2.0, 0.0, 0.0, math.pi / 2])
    frames = round(seconds * FPS)
    return Shot("Walker", FPS, frames, keys=keys, goals=goals, colliders=things, start=start, **more)


def parted() -> list[Collider]:
    return [*pen(), wall("Parting", (0.0, -2.0), (0.0, 0.7))]


SHOTS = {
    "there and back": lambda: shot(
        [ActionKey("walk", "b", hold=0.5), ActionKey("run", "a", facing=0.0)],
        [Goal("a", [-2.0, 0.0, 0.0]), Goal("b", [2.0, -1.0, 0.0], facing=math.pi)],
        parted(),
        18,
    ),
    "a turn": lambda: shot([ActionKey("idle", facing=math.radians(-100), hold=0.5)], [], [], 4),
    "crouching": lambda: shot(
        [ActionKey("walk", "g", gait="crouch")], [Goal("g", [1.5, 0.0, 0.0], facing=0.0)], [], 10
    ),
    "late": lambda: shot([ActionKey("walk", "g", start=45)], [Goal("g", [0.0, 0.0, 0.0])], [], 6),
    "beneath": lambda: beneath(1.45),
    "far beneath": lambda: beneath(1.32),
    "a narrow gap": lambda: narrow_gap(0.45),
    "a tight gap": lambda: narrow_gap(0.42),
    "a narrow gap from the side": lambda: narrow_gap(0.45, [-0.7, 1.5, 0.0, 0.0]),
    "a narrow gap at once": lambda: narrow_gap(0.45, [-0.55, 0.0, 0.0, math.pi / 2]),
}


def beneath(low: float) -> Shot:
    """A walk under a beam across the whole pen."""
    beam = wall("Beam", (0.0, -2.0), (0.0, 2.0), low=low)
    return shot([ActionKey("walk", "g")], [Goal("g", [2.3, 0.0, 0.0])], [*pen(), beam], 10)


def narrow_gap(gap: float, start: list[float] | None = None) -> Shot:
    """A walk through a gap in a wall across the whole pen."""
    things = [*pen(), wall("Low", (0.0, -2.0), (0.0, -gap / 2)), wall("High", (0.0, gap / 2), (0.0, 2.0))]
    return shot([ActionKey("walk", "g")], [Goal("g", [2.0, 0.0, 0.0])], things, 10, start=start or [-2.0, 0, 0, 1.57])


@cache
def baked(name: str) -> Motion:
    return Bake(SHOTS[name]()).motion()


def clearance(motion: Motion, things: list[Collider]) -> float:
    """Meters from the root to the nearest thing at hip height, over all frames."""
    around = Surroundings(things)
    hips = np.pad(motion.root[:, :2].astype(float), ((0, 0), (0, 1)), constant_values=0.9)
    return min(float(around.at(frame).distance(place[None])[0]) for frame, place in enumerate(hips))


def off(motion: Motion, frame: int, place: Array, facing: float) -> tuple[float, float]:
    """Meters and radians from a place (2,) and facing."""
    x, y, _, angle = motion.root[frame].astype(float)
    return math.dist((x, y), place), abs(math.remainder(angle - facing, 2 * math.pi))


def test_each_goal_is_reached_and_faced_as_asked() -> None:
    motion = baked("there and back")
    first, second = motion.meta["keys"]
    for key, place, facing in ((first, (2.0, -1.0), math.pi), (second, (-2.0, 0.0), 0.0)):
        assert key["trouble"] == ""
        assert key["set_off"] < key["arrived"] < key["done"]
        meters, radians = off(motion, key["done"], np.array(place), facing)
        assert meters < 0.1
        assert radians < math.radians(5)
        assert key["error_cm"] == pytest.approx(100 * meters, abs=2)
    assert first["done"] <= second["set_off"]


def test_the_character_stays_until_the_next_key_and_after_the_last() -> None:
    motion = baked("there and back")
    first, second = motion.meta["keys"]
    held = motion.root[first["done"] - 15 : second["set_off"], :2]
    after = motion.root[second["done"] :, :2]
    assert len(held) >= 14
    assert np.ptp(held, axis=0).max() < 0.03
    assert np.ptp(after, axis=0).max() < 0.03


def test_nothing_is_walked_through() -> None:
    assert clearance(baked("there and back"), parted()) > BODY


def test_feet_do_not_slide_at_stops_and_turns() -> None:
    assert foot_slide(baked("there and back")) < 3.0
    assert foot_slide(baked("a turn")) < 3.0


def test_the_character_walks_to_walk_and_jogs_to_run() -> None:
    motion = baked("there and back")
    first, second = motion.meta["keys"]
    gaits = motion.actions.argmax(axis=1)
    assert GAITS.index("jog") not in gaits[: first["done"]]
    assert GAITS.index("jog") in gaits[second["set_off"] : second["arrived"]]
    assert gaits[-1] == GAITS.index("stand")


def test_a_turn_on_the_spot_stays_on_the_spot_and_does_not_spin() -> None:
    motion = baked("a turn")
    assert np.linalg.norm(motion.root[:, :2] - motion.root[0, :2], axis=1).max() < 0.15
    _, radians = off(motion, len(motion) - 1, motion.root[0, :2], math.radians(-100))
    assert radians < math.radians(5)
    turned = np.abs(np.diff(np.unwrap(motion.root[:, 3].astype(float)))).sum()
    assert turned < math.radians(190 + 20)  # from +90 to -100 degrees


def test_an_idle_key_looks_toward_its_goal() -> None:
    motion = Bake(shot([ActionKey("idle", "g")], [Goal("g", [-2.0, 3.0, 1.0])], [], 4)).motion()
    _, radians = off(motion, len(motion) - 1, motion.root[-1, :2], math.pi)
    assert radians < math.radians(5)


def test_a_crouching_walk_ends_upright_on_its_goal() -> None:
    motion = baked("crouching")
    assert GAITS.index("crouch") in motion.actions.argmax(axis=1)
    assert motion.meta["keys"][0]["error_cm"] < 10
    assert motion.actions[-1].argmax() == GAITS.index("stand")


def test_a_key_sets_off_at_its_frame() -> None:
    motion = baked("late")
    assert motion.meta["keys"][0]["set_off"] == 45
    moved = np.linalg.norm(motion.root[:, :2] - motion.root[0, :2], axis=1)
    assert moved[45] < 0.05
    assert moved[-1] > 1.8


@pytest.mark.parametrize(("name", "low"), [("beneath", 1.45), ("far beneath", 1.32)])
def test_the_crown_goes_beneath_a_beam(name: str, low: float) -> None:
    motion = baked(name)
    assert motion.meta["keys"][0]["error_cm"] < 10
    head = motion.positions[:, motion.names.index("Head")]
    under = np.abs(head[:, 0]) < 0.2
    assert under.any()
    assert head[under, 2].max() + CROWN < low
    assert head[-1, 2] > 1.45
    assert foot_slide(motion) < 3.0


@pytest.mark.parametrize("name", [name for name in SHOTS if " gap" in name])
def test_the_character_goes_sideways_through_a_narrow_gap_and_touches_nothing(name: str) -> None:
    motion, things = baked(name), Surroundings(SHOTS[name]().colliders)
    assert motion.meta["keys"][0]["error_cm"] < 10
    deepest = max(depth(places.astype(float), 0, things, (), False, False) for places in motion.positions)
    assert deepest < 0.02
    within = np.abs(motion.root[:, 0]) < 0.15
    aside = np.abs(np.sin(motion.root[within, 3].astype(float)))  # of the way, which leads along +X
    assert aside.max() < math.sin(math.radians(20))
    assert foot_slide(motion) < 3.0


def test_the_head_sinks_by_what_is_needed_smoothly_and_only_near_what_is_above() -> None:
    heads, undersides = np.full(300, 1.25), np.full(300, np.inf)
    undersides[140:160] = 1.35
    sunk = sinking(heads, undersides)
    assert sunk[140:160] == pytest.approx(1.25 + CROWN + SPARE - 1.35)
    assert not sunk[:90].any() and not sunk[210:].any()
    assert np.abs(np.diff(sunk, 2)).max() * FPS_INSIDE**2 < 4.0


def test_the_character_waits_for_what_crosses_the_way_and_goes_on() -> None:
    seconds = np.arange(330) / FPS
    cart = box("Cart", (0.0, 0.0, 0.5), (1.0, 1.0, 1.0))
    places = np.stack(
        (0 * seconds + 0.5, np.interp(seconds, [0, 1, 4, 6], [-6, -1.6, -0.3, 5]), 0 * seconds + 0.5), axis=1
    )
    things = [sliding(cart, places)]
    goals = [Goal("g", [2.5, 0.0, 0.0])]
    motion = Bake(shot([ActionKey("walk", "g", route=[[-2.0, 0, 0], [2.5, 0, 0]])], goals, things, 11)).motion()
    assert clearance(motion, things) > BODY
    assert motion.meta["keys"][0]["error_cm"] < 10


def test_the_character_goes_round_what_stays_in_the_way() -> None:
    places = np.stack(
        (0 * np.arange(360) + 0.5, np.interp(np.arange(360), [0, 30], [-4, 0]), np.full(360, 0.5)), axis=1
    )
    things = [sliding(box("Cart", (0.0, 0.0, 0.5), (1.0, 1.0, 1.0)), places)]
    motion = Bake(shot([ActionKey("walk", "g")], [Goal("g", [2.5, 0.0, 0.0])], things, 12)).motion()
    assert clearance(motion, things) > BODY
    assert motion.meta["keys"][0]["error_cm"] < 10


def test_an_animators_route_is_walked() -> None:
    route = [[-2.0, 0.0, 0.0], [-1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [2.0, 0.0, 0.0]]
    motion = Bake(shot([ActionKey("walk", "g", route=route)], [Goal("g", [2.0, 0.0, 0.0])], [], 10)).motion()
    for place in route:
        assert np.linalg.norm(motion.root[:, :2] - place[:2], axis=1).min() < 0.2


def test_the_character_stops_before_a_seat_on_a_free_side_of_it() -> None:
    seat = Seat([0.0, 0.0, 0.25], [0.0, -1.0, 0.0], 0.5, 0.5, approaches=["left", "back"])
    chair = box("Chair", (1.0, 0.0, 0.25), (0.5, 0.5, 0.5), role="seat", handles=seat)
    motion = Bake(shot([ActionKey("walk", "g")], [Goal("g", [1.0, 0.0, 0.0], collider="Chair")], [chair], 9)).motion()
    x, y = motion.root[-1, :2] - [1.0, 0.0]
    assert max(abs(x), abs(y)) == pytest.approx(0.6, abs=0.1)
    assert x > 0.4 or y > 0.4  # +X is the left of a character that sits facing -Y
    _, radians = off(motion, len(motion) - 1, motion.root[-1, :2], math.atan2(-x, y))
    assert radians < math.radians(15)


def test_what_is_not_done_at_the_end_of_the_shot_says_so() -> None:
    short = SHOTS["there and back"]()
    short.frames = 60
    first, second = Bake(short).motion().meta["keys"]
    assert (first["done"], second["set_off"]) == (None, None)
    assert "ends before this is done" in first["trouble"]
    assert first["error_cm"] > 50


def test_a_stay_that_the_end_of_the_shot_cuts_short_was_done() -> None:
    first, second = (
        Bake(shot([ActionKey("walk", "g"), ActionKey("idle", hold=60.0)], [Goal("g", [0.0, 0.0, 0.0])], [], 8))
        .motion()
        .meta["keys"]
    )
    assert (first["trouble"], second["trouble"]) == ("", "")
    assert second["arrived"] is not None


@pytest.mark.parametrize("name", ["there and back", "crouching", "late", "beneath", "a narrow gap"])
def test_when_a_key_will_be_done_is_foreseen_within_what_is_left_open(name: str) -> None:
    for one, key in zip(foresee(SHOTS[name]()), baked(name).meta["keys"], strict=True):
        assert one.early <= key["done"] <= 2 * one.done - one.early


def test_a_goal_that_moves_is_where_it_is_when_its_key_begins() -> None:
    moves = [[0.02 * frame, 1.0, 0.0, 0.01 * frame] for frame in range(180)]
    goals = [Goal("g", [0.0, 1.0, 0.0], facing=0.0, moves=moves)]
    at_once, later = (shot([ActionKey("walk", "g", start=start)], goals, [], 6) for start in (None, 50))
    for one, place, facing in ((at_once, [0.0, 1.0], 0.0), (later, [1.0, 1.0], 0.5)):
        (seen,) = foresee(one)
        assert seen.leg is not None
        assert seen.leg.place == pytest.approx(place)
        assert seen.leg.facing == pytest.approx(facing)
    outcome = Bake(later).motion().meta["keys"][0]
    assert outcome["place"] == pytest.approx([1.0, 1.0])
    assert outcome["facing"] == pytest.approx(0.5)


def test_a_goal_whose_way_is_no_way_is_refused() -> None:
    goals = [Goal("g", [0.0, 0.0, 0.0], moves=[[0.0, 0.0, 0.0]])]
    with pytest.raises(ShotError, match=r"goals\[0\].moves\[0\] has 3 entries, 4 are needed"):
        shot([ActionKey("walk", "g")], goals, [], 4).validate()


def test_a_goal_that_cannot_be_reached_is_refused_with_its_key_and_the_reason() -> None:
    goals = [Goal("g", [0.0, 9.0, 0.0])]
    with pytest.raises(
        ShotError, match=r"Action key 1 \(walk\): The character cannot reach the goal: 'Side \d' is in the way"
    ):
        Bake(shot([ActionKey("walk", "g")], goals, pen(), 4))


def test_a_shot_with_keys_bakes_to_the_same_motion_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "shot.json", tmp_path / "motion.npz"
    SHOTS["there and back"]().save(file)
    assert main(["bake", str(file), "--out", str(out)]) == 0
    motion, here = Motion.load(out), baked("there and back")
    for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
        np.testing.assert_array_equal(getattr(motion, name), getattr(here, name))
    assert motion.meta == here.meta
    (_, first, second) = capsys.readouterr().out.splitlines()
    assert first.startswith("key 1 (walk): done at frame")
    assert second.endswith("degrees off)")
