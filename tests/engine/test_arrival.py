# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys that say when to arrive: they do so to the frame, or it is told before that they cannot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.nsm import SceneBake
from nsm_blender.errors import ShotError
from nsm_blender.models.nsm import OUTPUT
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.time_warp import TimeWarp, room
from nsm_blender.naturalness.metrics import foot_slide
from nsm_blender.planning.speed_limits import Range, limits_of
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

from .puppets import Puppet
from .test_task_machine import OPTIONS
from .test_task_machine import shot as furnished

FPS = 30.0


def shot(key: ActionKey, meters: float = 5.0, seconds: float = 12.0, **more: Any) -> Shot:
    """A walk along +x, which the character faces."""
    goals = [Goal("g", [meters, 0.0, 0.0])]
    start = [0.0, 0.0, 0.0, math.pi / 2]
    return Shot("Walker", FPS, round(seconds * FPS), keys=[key], goals=goals, start=start, **more)


def away(baked: Any, frame: int, meters: float) -> float:
    """Meters from the goal at a frame."""
    return math.dist(baked.root[frame, :2].tolist(), (meters, 0.0))


@pytest.mark.parametrize(
    ("key", "meters", "arrives"),
    [
        (ActionKey("walk", "g", start=12, arrive=220), 5.0, 220),
        (ActionKey("walk", "g", arrive=150), 8.0, 150),
        (ActionKey("walk", "g", start=15, duration=165), 4.0, 180),
    ],
    ids=["slowly", "hurrying", "for so long"],
)
def test_a_key_arrives_at_the_frame_that_it_says(key: ActionKey, meters: float, arrives: int) -> None:
    motion = Bake(shot(key, meters)).motion()
    (told,) = motion.meta["keys"]
    assert abs(told["arrived"] - arrives) <= 1
    assert away(motion, arrives, meters) < 0.11
    assert away(motion, arrives - 8, meters) > 0.11
    if key.start is not None:
        assert told["set_off"] == key.start
    assert foot_slide(motion) < 3.0


def test_a_key_that_may_set_off_when_it_likes_waits_and_goes_at_its_usual_speed() -> None:
    motion = Bake(shot(ActionKey("walk", "g", arrive=270), 4.0)).motion()
    (told,) = motion.meta["keys"]
    assert abs(told["arrived"] - 270) <= 1
    assert 270 - told["set_off"] < 5.5 * FPS
    assert away(motion, told["set_off"] - 15, 4.0) > 3.9


def test_what_is_too_fast_is_told_before_with_both_speeds() -> None:
    (problem,) = [one for one in check(shot(ActionKey("walk", "g", arrive=60), 12.0)) if one.fatal]
    assert "12.0 m in 2.0 s needs 6.0 m/s; the fastest is" in problem.text
    with pytest.raises(ShotError, match=r"Action key 1 \(walk\): 12\.0 m in 2\.0 s needs"):
        Bake(shot(ActionKey("walk", "g", arrive=60), 12.0))


def test_what_is_told_instead_can_be_done() -> None:
    (problem,) = check(shot(ActionKey("walk", "g", arrive=60), 12.0))
    frame = int(problem.text.split("arrive at frame ")[1].split()[0])
    assert not check(shot(ActionKey("walk", "g", arrive=frame), 12.0))


def test_what_is_too_slow_is_told_and_may_wait_where_its_start_is_left_open() -> None:
    (problem,) = check(shot(ActionKey("walk", "g", start=0, arrive=300), 2.0))
    assert problem.fatal
    assert "the slowest is" in problem.text
    assert not check(shot(ActionKey("walk", "g", arrive=300), 2.0))


def test_a_key_cannot_arrive_before_the_one_before_it_is_done() -> None:
    two = shot(ActionKey("walk", "g"), 8.0)
    two.goals.append(Goal("back", [0.0, 0.0, 0.0]))
    two.keys.append(ActionKey("walk", "back", arrive=200))
    (problem,) = check(two)
    assert problem.key == 1 and problem.fatal


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (ActionKey("idle", arrive=30), "arrives nowhere"),
        (ActionKey("walk", "g", start=50, arrive=40), "not after frame 50"),
        (ActionKey("walk", "g", duration=0), "less than a frame"),
        (ActionKey("walk", "g", start=10, arrive=40, duration=20), "leave one of the three open"),
    ],
)
def test_times_that_contradict_each_other_are_refused(key: ActionKey, words: str) -> None:
    with pytest.raises(ShotError, match=words):
        shot(key).validate()


def test_a_shot_file_tells_of_arrivals_only_where_there_are_any() -> None:
    plain, timed = shot(ActionKey("walk", "g")), shot(ActionKey("walk", "g", arrive=90))
    assert "arrive" not in plain.to_json()
    assert Shot.from_json(timed.to_json()) == timed
    assert plain.hash() != timed.hash()


def test_sitting_and_taking_happen_at_their_frames_with_the_things_in_hand() -> None:
    keys = [ActionKey("sit", "on chair", hold=0.5, arrive=200), ActionKey("pick_up", "on box", arrive=460)]
    motion = SceneBake(furnished(*keys, seconds=20.0), Puppet(), OPTIONS).motion()
    sat, took = motion.meta["keys"]
    assert (sat["trouble"], took["trouble"]) == ("", "")
    assert abs(sat["arrived"] - 200) <= 1
    assert abs(took["arrived"] - 460) <= 1
    box = np.array(motion.meta["things"]["box"])
    moved = np.linalg.norm(box[:, :3] - box[0, :3], axis=1)
    assert moved[455] < 0.02
    assert moved[500] > 0.1


class Balking(Puppet):
    """A network that does not move in the first ten seconds that it is asked for."""

    asked = 0

    def predict(self, *inputs: Any) -> Array:
        """The next frame, see `Puppet`."""
        out = super().predict(*inputs)
        self.asked += 1
        if self.asked < 600:
            out[OUTPUT.root_velocity] = out[OUTPUT.root_turn] = 0.0
        return out


def test_a_key_that_did_not_arrive_at_all_is_tried_again() -> None:
    key = ActionKey("sit", "on chair", arrive=200)
    motion = SceneBake(furnished(key, seconds=20.0), Balking(), OPTIONS).motion()
    (sat,) = motion.meta["keys"]
    assert sat["trouble"] == ""
    assert abs(sat["arrived"] - 200) <= 1


def test_a_warp_brings_a_frame_to_its_time_gently_and_leaves_what_was_before() -> None:
    warp = TimeWarp().brought(60, 300, 310)
    frames = np.arange(0.0, 400.0)
    times = warp.times(frames)
    assert warp.time(300) == pytest.approx(310)
    assert times[:61] == pytest.approx(frames[:61])
    assert times[300:] == pytest.approx(frames[300:] + 10)
    pace = np.diff(times)
    assert pace.min() > 1 / 1.1 and pace.max() < 1 / 0.9
    assert np.abs(np.diff(pace)).max() < 0.01
    assert warp.frames(times) == pytest.approx(frames, abs=1e-3)


def test_a_warp_changes_the_pace_by_no_more_than_a_tenth() -> None:
    warp = TimeWarp().brought(0, 100, 200)
    assert warp.time(100) == pytest.approx(100 + room(0, 100))
    assert np.diff(warp.times(np.arange(101.0))).max() < 1.1


def test_the_limits_are_those_of_the_card() -> None:
    results = {"pfnn.speed_limit_m_per_s.walk.least": 0.4, "pfnn.speed_limit_m_per_s.walk.most": 1.9}
    assert limits_of({"results": results}, "pfnn").by_gait["walk"] == Range(0.4, 1.9)
    assert limits_of({}, "pfnn").by_gait["walk"].most > 1.5
