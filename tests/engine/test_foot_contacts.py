# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of feet stand: what is labeled, low and slow."""

from __future__ import annotations

from nsm_blender.cleanup.foot_contacts import foot_contacts
from nsm_blender.models.nsm import CONTACTS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON

from .rollouts import COUNT, record


def by_joint(contacts: Array) -> dict[str, Array]:
    return dict(zip(CONTACT_JOINTS, contacts.T, strict=True))


def test_feet_that_are_labeled_and_flat_on_the_ground_stand_wholly() -> None:
    assert foot_contacts(record()).all()
    assert not foot_contacts(record(touching=())).any()


def test_a_raised_heel_is_no_contact() -> None:
    places = record().places
    places[:, MODEL_SKELETON.index("LeftFoot"), 2] += 0.12
    on = by_joint(foot_contacts(record(places)))
    assert not on["LeftFoot"].any() and on["LeftToe"].all() and on["RightFoot"].all()


def test_a_heel_that_rolls_on_over_a_toe_that_stays_is_no_contact() -> None:
    places = record().places
    places[100:160, MODEL_SKELETON.index("LeftFoot"), 0] += 1.0 * (places[100:160, 0, 0] + range(60)) / FPS
    on = by_joint(foot_contacts(record(places)))
    assert not on["LeftFoot"][102:158].any() and on["LeftToe"][102:158].all()


def test_a_labeled_foot_that_is_in_the_air_stands_on_its_toe() -> None:
    places = record().places
    places[:, MODEL_SKELETON.indices(["LeftFoot", "LeftToe"]), 2] += 0.12
    on = by_joint(foot_contacts(record(places)))
    assert on["LeftToe"].all() and not on["LeftFoot"].any()


def test_a_label_that_flickers_counts_as_what_is_around_it() -> None:
    rolled = record()
    left = CONTACTS.index("LeftFoot")
    rolled.contacts[100:102, left] = 0
    assert foot_contacts(rolled).all()
    rolled.contacts[:, left] = 0
    rolled.contacts[100:102, left] = 1
    assert not by_joint(foot_contacts(rolled))["LeftToe"].any()
    rolled.contacts[100 : COUNT // 2, left] = 1
    assert by_joint(foot_contacts(rolled))["LeftToe"][100 : COUNT // 2].all()
