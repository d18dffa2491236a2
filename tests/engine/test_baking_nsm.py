# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes by the NSM: repeatable, taken up again at the first key that changed, kept on disk with all that they tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.nsm import SceneBake, bake_of
from nsm_blender.errors import ShotError, WeightsError
from nsm_blender.motion.motion import Motion
from nsm_blender.shot.goals import ActionKey
from nsm_blender.shot.shot import Shot

from .puppets import Puppet
from .test_task_machine import OPTIONS, played, shot

KEYS = [ActionKey("walk", "door"), ActionKey("sit", "on chair"), ActionKey("walk", "door", hold=0.5)]


def bake(some: Shot, again: SceneBake | None = None) -> SceneBake:
    return SceneBake(some, Puppet(), OPTIONS, again)


def assert_same(a: Motion, b: Motion) -> None:
    for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.meta == b.meta


def test_a_changed_key_leaves_what_comes_before_it_as_it_was() -> None:
    first = bake(shot(*KEYS, seconds=12.0))
    first.motion()
    changed = shot(*KEYS[:2], replace(KEYS[2], action="run"), seconds=12.0)
    again = bake(changed, first)
    assert again.first_frame > 0
    assert_same(again.motion(), bake(changed).motion())
    # The states that were kept before are not used up.
    once_more = bake(shot(*KEYS, seconds=12.0), again)
    assert once_more.first_frame == again.first_frame
    assert_same(once_more.motion(), first.motion())


def test_a_longer_shot_goes_on_from_the_last_key_that_was_begun() -> None:
    first = bake(shot(*KEYS, seconds=8.0))
    first.motion()
    longer = shot(*KEYS, seconds=12.0)
    again = bake(longer, first)
    assert again.first_frame > 0
    assert_same(again.motion(), bake(longer).motion())


def test_a_bake_that_is_ended_is_that_of_the_shorter_shot() -> None:
    ended = bake(shot(*KEYS, seconds=12.0))
    while ended.progress < 0.5:
        ended.step()
    ended.end_here()
    motion = ended.motion()
    shorter = bake(replace(shot(*KEYS, seconds=12.0), frames=len(motion))).motion()
    assert len(shorter) == len(motion) < 0.6 * shot(*KEYS, seconds=12.0).frames
    np.testing.assert_allclose(motion.positions, shorter.positions, atol=1e-6)
    assert motion.meta["keys"] == shorter.meta["keys"]


def test_another_manner_of_walking_begins_anew() -> None:
    like = replace(shot(*KEYS, seconds=8.0), performer="accad_female1")
    first = bake(like)
    first.motion()
    assert bake(replace(like, keys=like.keys[:2]), first).first_frame > 0
    assert bake(replace(like, performer_blend=0.5), first).first_frame == 0


def test_a_moved_thing_begins_anew() -> None:
    first = bake(shot(*KEYS, seconds=6.0))
    first.motion()
    other = shot(*KEYS, seconds=6.0)
    other.colliders = [replace(other.colliders[0], poses=other.colliders[0].poses + 0.1), *other.colliders[1:]]
    assert bake(other, first).first_frame == 0


def test_what_a_motion_tells_is_kept_on_disk(tmp_path: Path) -> None:
    motion = played()
    motion.save(tmp_path / "m.npz")
    read = Motion.load(tmp_path / "m.npz")
    assert read.meta == motion.meta
    assert {one["what"] for one in read.meta["corrections"]} == {"hips", "hands", "box"}
    # Hips that sit right give way by as much where the legs would be in the seat.
    assert all(one["cm"] <= max(one["raw_cm"], 3.0) for one in read.meta["corrections"])


@pytest.mark.parametrize("fps", [24.0, 60.0])
def test_a_motion_has_the_frames_of_its_shot(fps: float) -> None:
    motion = bake(shot(KEYS[0], seconds=3.0, fps=fps)).motion()
    assert len(motion) == round(3 * fps) and motion.fps == fps
    assert np.isfinite(motion.positions).all()


def test_progress_never_falls() -> None:
    one = bake(shot(KEYS[0], seconds=2.0))
    seen = [one.progress]
    while not one.done:
        one.step()
        seen.append(one.progress)
    assert (np.diff(seen) >= 0).all() and seen[0] == 0 and seen[-1] == 1


def test_a_card_that_does_not_say_how_the_character_stands_is_refused() -> None:
    puppet = Puppet()
    del puppet.card["standing"]
    with pytest.raises(WeightsError, match="how the character stands"):
        SceneBake(shot(*KEYS), puppet)


def test_the_locomotion_network_bakes_what_it_can() -> None:
    assert isinstance(bake_of(shot(KEYS[0])), Bake)
    with pytest.raises(ShotError, match="action keys"):
        SceneBake(Shot("nobody", 30.0, 10, velocity=None), Puppet())
