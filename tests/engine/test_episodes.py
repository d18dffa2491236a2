# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes composed of synthetic walks: approaches, boxes in hands, doors, steps, and what is rejected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.ground_height import ground_under
from nsm_blender.models.nsm import ACTIONS, FPS, GOAL_ACTIONS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.rollout import held_objects
from nsm_blender.training.episodes.boxes import random_box, random_support
from nsm_blender.training.episodes.carry_episodes import carry_episode
from nsm_blender.training.episodes.climb_episodes import hollow
from nsm_blender.training.episodes.climbing import Flight, Stance, flight_of
from nsm_blender.training.episodes.clutter import clutter
from nsm_blender.training.episodes.correction import corrected
from nsm_blender.training.episodes.doorways import pulled, pushed, random_doorway, swung_on
from nsm_blender.training.episodes.episode import (
    DEEPEST,
    FREE,
    Episode,
    Fault,
    Goals,
    asked_for,
    penetration,
    unnatural,
)
from nsm_blender.training.episodes.holding import Hold, box_poses, holding, off_faces
from nsm_blender.training.episodes.lifting import standing_lifts
from nsm_blender.training.episodes.open_episodes import Walks, open_episode
from nsm_blender.training.episodes.pool import Pool
from nsm_blender.training.episodes.reach import palm
from nsm_blender.training.episodes.track import Track, align, from_clip, joined, load_tracks, save_tracks
from nsm_blender.training.nsm_data import PAST, features

from .synthetic import perform

TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])


def walk(speed: Array | float, seconds: float = 6.0, turn: Array | float = 0.0, **more: float) -> Track:
    return from_clip(perform(speed, seconds, turn=turn, **more).clip)


def come_and_go(turn: float) -> Track:
    """Walking up, standing for four seconds, and walking off in another direction."""
    t = np.arange(round(6 * FPS)) / FPS
    coming = perform(np.interp(t, [3.0, 4.0], [1.0, 0.0]), 6.0, stepping=(0.0, 4.2)).clip
    turns = np.where((t > 1.6) & (t < 2.6), turn, 0.0)
    going = perform(np.interp(t, [2.2, 3.2], [0.0, 1.0]), 6.0, turn=turns, stepping=(1.5, np.inf)).clip
    first = from_clip(coming)
    return joined([first, align(from_clip(going), 0, first.root()[-1, :2], float(first.root()[-1, 3]))])


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool([come_and_go(turn) for turn in (-2.8, -1.5, 0.0, 1.5, 2.8)] + [walk(0.8), walk(1.1)])


def block(place: tuple[float, float], half: tuple[float, float, float]) -> Collider:
    return Collider("block", Cuboids(np.array([[*place, half[2]]]), np.array([half])))


def test_a_character_that_waits_is_asked_shortly_before_it_begins() -> None:
    def asked(*speeds: tuple[float, float]) -> float:
        """Seconds before a thing is used at the end of speeds in m/s that last so many seconds."""
        speed = np.concatenate([np.full(round(seconds * FPS), speed) for speed, seconds in speeds])
        root = np.zeros((len(speed), 4))
        root[:, 0] = np.cumsum(speed) / FPS
        return (len(speed) - asked_for(root, len(speed) - 1, np.random.default_rng(0))) / FPS

    assert asked((1.0, 2.0)) == 2.0
    assert asked((1.0, 2.0), (0.0, 0.4)) == 2.4
    assert 0 < asked((1.0, 2.0), (0.0, 2.0)) < 0.6
    assert 1.0 < asked((0.0, 3.0), (1.0, 1.0), (0.0, 0.3)) < 2.0


def test_some_approaches_are_ways_of_the_network_and_no_departures() -> None:
    taken, own = [walk(1.0), walk(1.1)], walk(0.9, turn=0.1)
    pool, draw = Pool(taken, [own]), np.random.default_rng(0)
    entry = walk(1.0).cut(100, 200)
    before = [pool.before(entry, 1.0, draw)[1].track for _ in range(60)]
    assert 6 < before.count(len(taken)) < 32
    assert all(pool.after(entry, 1.0, draw)[1].track < len(taken) for _ in range(20))


def test_a_way_with_a_box_in_the_hands_is_gone_on_from_with_a_box_alone() -> None:
    taken, own = [walk(1.0), walk(1.1)], walk(0.9, turn=0.1)
    own.actions[:, ACTIONS.index("carry")] = 1
    pool, draw = Pool(taken, [own]), np.random.default_rng(0)
    entry = walk(1.0).cut(100, 200)
    carrying = [pool.before(entry, 1.0, draw, ahead=0.4)[1].track for _ in range(60)]
    assert carrying.count(len(taken)) > 6
    assert all(pool.before(entry, 1.0, draw)[1].track < len(taken) for _ in range(40))


def test_a_box_that_was_taken_is_put_down_when_that_is_played_backward(pool: Pool) -> None:
    up = next(lift for lift in standing_lifts(pool.tracks) if lift.way == "up")
    down = up.reversed()
    assert down.way == "down" and not down.track.recorded.any()
    assert np.allclose(down.track.hips[down.grasp], up.track.hips[up.grasp])
    assert down.grasp - down.span[0] == up.span[1] - up.grasp
    assert 0 <= down.span[0] < down.grasp < down.span[1] < len(down.track)
    hips = down.track.hips[slice(*down.span)]
    assert np.allclose(hips[::-1], up.track.hips[up.span[0] + 1 : up.span[1] + 1])


def test_an_approach_leads_to_where_the_entry_begins(pool: Pool) -> None:
    entry = walk(1.0).cut(100, 200).moved(1.2, np.zeros(2), np.array([3.0, -2.0]))
    approach, _ = pool.before(entry, 2.0, np.random.default_rng(0))
    root, wanted = approach.root()[-1], entry.root()[0]
    assert np.linalg.norm(root[:2] - wanted[:2]) < 0.05  # one frame of walking and the difference of two walks
    assert abs(np.angle(np.exp(1j * (root[3] - wanted[3])))) < 0.1


def test_a_departure_goes_round_what_stands_there(pool: Pool) -> None:
    standing = come_and_go(0.0).cut(280, 400)
    root = standing.root()[-1]
    wall = block((root[0], root[1] - 0.6), (1.5, 0.1, 1.0))
    obstacles = Surroundings([wall]).at(0)
    for seed in range(4):
        departure, _ = pool.after(standing, 3.0, np.random.default_rng(seed), obstacles, far=0.8)
        assert obstacles.distance(departure.hips).min() > 0.2
        assert np.linalg.norm(departure.hips[-1, :2] - root[:2]) > 0.8


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_palms_lie_on_the_box_while_it_is_held_and_the_feet_stay(pool: Pool, way: str) -> None:
    lift = next(lift for lift in standing_lifts(pool.tracks) if lift.way == way)
    box = random_box(np.random.default_rng(3), "test")
    hold = replace(Hold.random(0.95, box, np.random.default_rng(0)), grasp=lift.grasp)
    track = holding(lift.track, lift, box, hold)
    held = slice(lift.grasp, None) if way == "up" else slice(0, lift.grasp + 1)
    poses = box_poses(track, hold, held)
    assert off_faces(track, poses, box, held) < 0.01
    lying = poses[: lift.grasp] if way == "up" else poses[lift.grasp + 1 :]
    assert np.ptp(lying[:, :3], axis=0).max() < 1e-6 or np.abs(lying[-20:, :3] - [0, 0, 0.95]).max() < 0.02
    assert np.abs(track.positions()[:, TOES] - lift.track.positions()[:, TOES]).max() < 0.01


def test_hands_rest_on_a_box_for_as_long_as_those_of_the_recorded_template(pool: Pool) -> None:
    stood = next(lift for lift in standing_lifts(pool.tracks) if lift.way == "up")
    steps = np.arange(len(stood.track)) - stood.grasp
    # The whole body comes down to the box, rests for 20 and 10 frames, and rises.
    lowered = 0.4 - 0.02 * np.maximum(np.maximum(-20 - steps, steps - 10), 0)
    hips = stood.track.hips - np.maximum(lowered, 0)[:, None] * np.array([0.0, 0.0, 1.0])
    lift = replace(stood, standing=False, track=replace(stood.track, hips=hips), height=stood.height - 0.4)
    box = random_box(np.random.default_rng(3), "test")
    hold = Hold.random(0.5, box, np.random.default_rng(0)).of(lift, lift.grasp)
    assert (hold.before, hold.after) == (20, 10)
    track = holding(lift.track, lift, box, hold)
    lying = np.tile([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], (len(track), 1))
    assert off_faces(track, lying, box, slice(lift.grasp - 20, lift.grasp + 11)) < 0.01
    assert off_faces(track, lying, box, slice(lift.grasp - 40, lift.grasp - 39)) > 0.02


def test_boxes_lie_at_all_heights_that_people_lift_to() -> None:
    rng = np.random.default_rng(2)
    found = [random_support(rng, random_box(rng, "box")) for _ in range(60)]
    tops = np.array([support.top for support in found if support is not None])
    share, _ = np.histogram(tops, [0.0, 0.3, 0.6, 0.9, 1.25])
    assert share.min() >= 0.1 * len(found)


def test_a_body_gives_way_to_the_block_that_it_takes_a_box_from(pool: Pool) -> None:
    lift = next(one for one in standing_lifts(pool.tracks) if one.way == "up")
    box = random_box(np.random.default_rng(3), "test")
    hold = replace(Hold.random(1.1, box, np.random.default_rng(0)), grasp=lift.grasp)
    track, held = holding(lift.track, lift, box, hold), slice(lift.grasp, None)
    carried = Collider("box", box.cuboids, box_poses(track, hold, held), "carryable", box.handles)
    top = 1.1 - box.bottom
    wall = block((0.0, box.near - 0.25), (0.5, 0.25, top / 2))
    lying = held_objects.Hold("box", box.handles, carried.poses[lift.grasp], lift.grasp, 0)
    frames = range(0, len(track), 3)
    before = penetration(track.positions(), Surroundings([wall]), frames).max()
    cleared = corrected(track, [carried, wall], lying)
    after = penetration(cleared.positions(), Surroundings([wall]), frames).max()
    assert before > DEEPEST > after
    assert off_faces(cleared, box_poses(cleared, hold, held), box, held) < 0.01
    planted = track.contacts[:, [1, 3]] > 0.5
    # Whole steps may give way with the body; what stands does not slide.
    moved = cleared.positions()[:, TOES] - track.positions()[:, TOES]
    assert np.linalg.norm(np.diff(moved, axis=0), axis=-1)[planted[1:] & planted[:-1]].max() < 1e-4


def test_a_carried_box_is_wanted_reached_and_in_no_body(pool: Pool) -> None:
    lifts = standing_lifts(pool.tracks)
    made = []
    for seed in range(12):
        found = carry_episode(pool, lifts, np.random.default_rng(seed), "carry") if seed % 2 else None
        made += [found] if isinstance(found, Episode) else []
        if len(made) == 2:
            break
    assert made
    for episode in made:
        carrying = episode.track.actions[:, ACTIONS.index("carry")] > 0.5
        hands = episode.touching[:, :2].min(1) > 0.5
        assert carrying[hands].mean() > 0.9
        asked = episode.goals.action[~episode.goals.locomotion]
        assert set(asked) <= {GOAL_ACTIONS.index("carry"), GOAL_ACTIONS.index("idle")}
        box = Surroundings(episode.colliders[:1])
        assert penetration(episode.track.positions(), box, range(len(episode)), with_arms=False).max() <= DEEPEST


def test_a_box_that_is_put_down_is_thought_of_at_its_place_and_not_sensed_in_the_hands(pool: Pool) -> None:
    lifts = [lift for lift in standing_lifts(pool.tracks) if lift.way == "down"]
    made = (carry_episode(pool, lifts, np.random.default_rng(seed), "carry") for seed in range(40))
    episode = next(one for one in made if isinstance(one, Episode))
    (number,) = episode.carried
    gone = np.array([0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0])
    others = [replace(one, poses=one.poses + gone) if n == number else one for n, one in enumerate(episode.colliders)]

    def differs(goals: Goals) -> Array:
        """(N,) frames in which the environment sensor sees the box."""
        seen = (
            features(replace(episode, goals=goals, colliders=things), np.random.default_rng(0)).around
            for things in (episode.colliders, others)
        )
        out: Array = np.not_equal(*seen).any(axis=1)
        return out

    thinks = differs(episode.goals)
    frames = PAST + np.arange(len(thinks))
    ghost = np.isin(episode.goals.thing[frames], episode.ghosts)
    ramp = round(0.5 * FPS)
    fully = ghost & (np.convolve(ghost, np.ones(2 * ramp + 1), "same") >= min(ghost.sum(), 2 * ramp + 1))
    carries = episode.touching[frames, :2].min(1) > 0
    assert (fully & carries).any() and not thinks[fully & carries].any()
    nothing = replace(episode.goals, thing=np.full(len(episode), FREE))
    assert differs(nothing)[carries].mean() > 0.9


def test_hips_that_bend_over_feet_that_stand_do_not_walk(pool: Pool) -> None:
    walking = [
        replace(lift, track=lift.track.relabeled(0, len(lift.track), "walk")) for lift in standing_lifts(pool.tracks)
    ]
    made = (carry_episode(pool, walking, np.random.default_rng(seed), "carry") for seed in range(20))
    episode = next(found for found in made if isinstance(found, Episode))
    held = episode.touching[:, 0] > 0.5
    grasp = int(np.flatnonzero(np.diff(held.astype(int)))[0])
    actions = episode.track.actions[grasp - 6 : episode.transitions[0][1]]
    assert (actions[:, ACTIONS.index("walk")] == 0).all() and (actions[:, ACTIONS.index("idle")] == 1).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_leaf_turns_about_its_hinge_with_the_handle_in_the_hand(seed: int) -> None:
    doorway = random_doorway(np.random.default_rng(seed), "door")
    angle = np.linspace(0, 1.5, 40)
    grip = doorway.grip(angle)
    radius = np.linalg.norm(grip[:, :2] - doorway.hinge, axis=1)
    np.testing.assert_allclose(radius, radius[0])
    # The leaf goes with the hand, and away from the pushing character.
    leaf = Collider("leaf", doorway.leaf.cuboids, doorway.poses(angle))
    for frame in (0, 20, 39):
        assert Surroundings([leaf]).at(frame).distance(grip[frame : frame + 1])[0] < 0.03
    assert (grip[-1, 1] < grip[0, 1]) == doorway.pushed


def test_a_pushed_door_opens_before_the_body_and_never_shuts() -> None:
    rng = np.random.default_rng(0)
    doorway = next(d for d in (random_doorway(rng, "door") for _ in range(30)) if d.pushed)
    body = np.stack((np.zeros(300), np.linspace(1.2, -2.0, 300)), axis=1)
    swing = pushed(doorway, body, 60, rng)
    assert (swing.angle[: swing.begin] == 0).all() and (np.diff(swing.angle) >= 0).all()
    assert swing.touch <= swing.begin < swing.release and 1.2 < swing.angle[-1] < 1.8
    # The handle moves off softly, and then keeps its distance before the body until it is let go.
    handle = doorway.grip(swing.angle)[: swing.release]
    assert np.abs(np.diff(handle, 2, axis=0)).max() * FPS**2 < 12
    ahead = (body[: swing.release, 1] - handle[:, 1])[swing.begin + round(0.3 * FPS) :]
    assert np.ptp(ahead) < 0.1
    swing = pulled(300, 60, 1.0, rng)
    assert (np.diff(swing.angle) >= 0).all() and 1.2 < swing.angle[-1] < 1.8


def test_a_door_is_gone_through_with_a_hand_on_the_handle(pool: Pool) -> None:
    walks = Walks(pool)
    made = (open_episode(pool, walks, np.random.default_rng(seed), "open") for seed in range(30))
    episode = next(found for found in made if isinstance(found, Episode))
    ((first, last),) = episode.transitions
    assert episode.track.hips[0, 1] > 0 > episode.track.hips[-1, 1]
    assert (episode.track.actions[first:last, ACTIONS.index("open")] == 1).all()
    assert not episode.track.recorded[first:last].any()  # no recording was made at a door
    touched = np.flatnonzero(episode.touching[:, :2].max(1))
    side = "Left" if episode.touching[touched[0], 0] else "Right"
    door = Surroundings(episode.colliders[:1])
    places = palm(episode.track, side)
    assert max(door.at(int(f)).distance(places[f : f + 1])[0] for f in touched) < 0.06
    whole = Surroundings(episode.colliders)
    assert penetration(episode.track.positions(), whole, range(0, len(episode), 3)).max() <= 0.05


def flight() -> Flight:
    """A walk on the flat whose feet are said to be on a step from -1.5 m on."""
    track = walk(0.7, 6.0, hips=0.84)
    places = track.positions()
    stances = []
    for side, joint, columns in (("Left", TOES[0], slice(0, 2)), ("Right", TOES[1], slice(2, 4))):
        down = np.flatnonzero(np.diff(np.pad(track.contacts[:, columns].max(1), 1)))
        for start, stop in down.reshape(-1, 2):
            ball = places[(start + stop) // 2, joint]
            stances.append(Stance(side, int(start), int(stop), int(ball[1] < -1.5), ball))
    return Flight("walk", "", track, tuple(stances), np.array([0.0, 0.1]))


def test_feet_keep_to_their_treads_at_any_height() -> None:
    before = flight()
    after = before.scaled(2.5)
    change = (after.track.positions() - before.track.positions())[:, TOES, 2]
    for stance in before.stances:
        moved = change[stance.start : stance.stop, 0 if stance.side == "Left" else 1]
        np.testing.assert_allclose(moved, 0.15 * stance.level, atol=0.02)
    assert np.abs(np.diff(after.track.hips[:, 2])).max() < 0.02


def test_hands_that_lean_on_a_tread_rise_with_it_and_tell_when_it_is_climbed() -> None:
    before = flight()
    wrist = MODEL_SKELETON.index("LeftHand")
    place = before.track.positions()[150, wrist]
    leaning = replace(before, hands=(Stance("Left", 120, 180, 1, place),))
    after = leaning.scaled(2.5)
    change = (after.track.positions() - before.track.positions())[:, wrist, 2]
    np.testing.assert_allclose(change[130:170], 0.15, atol=0.02)
    assert after.on_hands_and_knees is False and leaning.scaled(6.0).on_hands_and_knees
    assert leaning.scaled(6.0).climbing == [(120, 179)]
    assert leaning.mirrored().hands[0].side == "Right"


def test_treads_are_found_again_under_the_feet() -> None:
    found = flight_of(flight().scaled(3.0).track, "found", "")
    np.testing.assert_allclose(found.heights, [0.0, 0.2], atol=0.02)
    assert found.last_level == 1 and len(found.climbing) == 1
    treads = found.treads(0.3, (0.3, 0.3))
    under = ground_under(Surroundings([Collider("steps", treads)]).at(0), np.array([s.ball[:2] for s in found.stances]))
    levels = np.array([stance.level for stance in found.stances])
    assert (under[levels == 1] > 0.1).all() and (under[levels == 0] < 0.1).all()


def test_hollow_treads_have_the_same_tops_and_room_under_them() -> None:
    size = np.array([0.6, 1.0, 0.4])
    solid = Cuboids(np.array([[0.0, -1.0, 0.4]]), size[None])
    for seed in range(8):
        boards = hollow(solid, np.random.default_rng(seed))
        tops = boards.center[:, 2] + boards.half[:, 2]
        assert tops[0] == pytest.approx(0.8) and boards.half[0, :2].tolist() == [0.6, 1.0]
        low, high = (boards.center - boards.half).min(0), (boards.center + boards.half).max(0)
        np.testing.assert_allclose([low, high], [[-0.6, -2.0, 0.0], [0.6, 0.0, 0.8]], atol=1e-9)
        np.testing.assert_allclose(tops[1:], (boards.center - boards.half)[0, 2])
        around = Surroundings([Collider("stage", boards)]).at(0)
        assert around.distance(np.array([[0.0, -1.0, 0.3]]))[0] > 0.3


def test_the_ground_rises_evenly_over_an_edge() -> None:
    step = Surroundings([block((0.0, 0.0), (1.0, 1.0, 0.2))]).at(0)
    places = np.stack((np.linspace(-2, 0, 41), np.zeros(41)), axis=1)
    height = ground_under(step, places)
    assert height[0] == 0 and height[-1] == pytest.approx(0.4) and height[20] == pytest.approx(0.2, abs=0.06)
    assert (np.diff(height) >= 0).all() and np.diff(height).max() < 0.15


@pytest.mark.parametrize("speed", [0.1, 0.3])
def test_a_root_that_comes_over_a_high_edge_is_raised_as_smoothly_as_it_goes(speed: float) -> None:
    stage = Surroundings([block((0.0, 0.0), (1.0, 1.0, 0.425))]).at(0)
    way = np.arange(-1.5, -0.5, speed / FPS)
    height = ground_under(stage, np.stack((way, 0.03 + 0 * way), axis=1))
    assert height[0] == 0 and height[-1] == pytest.approx(0.85)
    assert np.abs(np.diff(height, 2)).max() * FPS**2 < 10.0


def test_a_top_of_many_cuboids_is_as_high_as_one_of_one() -> None:
    whole = Surroundings([block((0.0, 0.0), (1.0, 0.5, 0.2))]).at(0)
    parts = [block((x, y), (0.5, 0.25, 0.2)) for x in (-0.5, 0.5) for y in (-0.25, 0.25)]
    low = block((0.0, 0.0), (1.0, 0.5, 0.1))
    places = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 2))
    wanted = ground_under(whole, places)
    np.testing.assert_allclose(ground_under(Surroundings([*parts, low]).at(0), places), wanted, atol=0.03)
    inside = np.abs(places) < [0.6, 0.15]
    np.testing.assert_allclose(ground_under(Surroundings(parts).at(0), places)[inside.all(1)], 0.4)


def test_the_root_stands_on_what_is_climbed_and_on_nothing_else() -> None:
    track = walk(1.0)
    below = block((0.0, -3.0), (0.5, 0.5, 0.2))
    for role, height in (("climbable", 0.4), ("surface", 0.0)):
        things = [replace(below, role=role)]
        episode = Episode("", "climb", (), track, (), Goals.steered(len(track)), np.zeros((len(track), 3)), things)
        assert episode.root()[:, 2].max() == pytest.approx(height, abs=0.01)


def test_sliding_feet_and_leaps_are_rejected() -> None:
    good = walk(1.0)
    assert unnatural(good) is None
    sliding = replace(good, hips=good.hips + np.linspace(0, 1.0, len(good))[:, None] * [1.0, 0, 0])
    fault = unnatural(sliding)
    assert isinstance(fault, Fault) and fault.reason == "feet slide"
    leap = good.hips.copy()
    leap[len(leap) // 2 :, 2] += 0.3
    fault = unnatural(replace(good, hips=leap))
    assert isinstance(fault, Fault) and fault.reason == "jerk"


def test_tracks_are_read_as_they_were_written(tmp_path: Path) -> None:
    tracks = [walk(1.0, 1.0), walk(0.6, 1.5)]
    save_tracks(tmp_path / "walks.npz", tracks)
    for track, again in zip(tracks, load_tracks(tmp_path / "walks.npz"), strict=True):
        for name, value in vars(track).items():
            np.testing.assert_array_equal(getattr(again, name), value)


def test_things_stand_beside_what_is_used_and_in_no_carried_box() -> None:
    track = walk(1.0)
    middle = track.hips + np.array([0.0, 0.0, 0.2])
    poses = np.append(middle, np.tile([1.0, 0.0, 0.0, 0.0], (len(track), 1)), axis=1)
    box = Collider("box", Cuboids(np.zeros((1, 3)), np.array([[0.6, 0.1, 0.1]])), poses)
    ends = (middle[::3, None] + np.array([[-0.6, 0.0, 0.0], [0.6, 0.0, 0.0]])).reshape(-1, 3)
    place = track.hips[-1, :2] + np.array([0.0, 0.8])
    near = []
    for used in (place, None):
        things = [one for seed in range(12) for one in clutter(track, [box], np.random.default_rng(seed), used)]
        assert all(Surroundings([thing]).at(0).distance(ends).min() > 0 for thing in things)
        near.append(np.mean([np.linalg.norm(thing.poses[0, :2] - place) < 1.2 for thing in things]))
    assert near[0] > near[1] + 0.1


def test_no_body_is_in_what_stands_around(pool: Pool) -> None:
    track = pool.tracks[1]
    closest = []
    for seed in range(12):
        for thing in clutter(track, [], np.random.default_rng(seed)):
            deep = penetration(track.positions(), Surroundings([thing]), range(0, len(track), 3)).max()
            assert deep == 0
            closest.append(Surroundings([thing]).at(0).distance(track.positions()[::3].reshape(-1, 3)).min())
    # The network learns to pass things closely.
    assert min(closest) < 0.15


@pytest.mark.parametrize("opened", [0.8, 1.4, 1.9])
def test_a_leaf_that_is_let_go_swings_on_a_little_at_least_and_comes_to_rest(opened: float) -> None:
    pulled = np.concatenate((np.linspace(0.0, opened, 60), np.full(300, opened)))
    angle = swung_on(pulled, 59, 1.5)
    steps = np.diff(angle)
    assert (steps >= 0).all() and steps[-1] < 1e-3 and steps[59] <= steps[58] + 1e-9
    assert angle[-1] == pytest.approx(max(1.5, opened + 0.1), abs=0.02)
