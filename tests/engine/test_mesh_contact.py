# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact of finished motions with the true meshes of their scenes."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.evaluation.naturalness.mesh_contact import contact_of, mesh_contact
from nsm_blender.geometry.colliders import STILL, Collider, Cuboids
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.roles import Carryable, Seat
from nsm_blender.geometry.shapes import block
from nsm_blender.models.nsm import ACTIONS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.naturalness.case import Case
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

FPS, FRAMES = 30.0, 60


def motion_of(
    shift: Array, things: dict[str, Array] | None = None, keys: list[dict[str, object]] | None = None
) -> Motion:
    """A body in T-pose that faces -Y, its hips moved by shift (T, 3)."""
    turned = np.zeros((FRAMES, len(MODEL_SKELETON), 4))
    turned[..., 0] = 1
    hips = np.array([0.0, 0.0, HIPS_HEIGHT]) + shift
    return Motion(
        MODEL_SKELETON.names, MODEL_SKELETON.parents, MODEL_SKELETON.positions(hips, turned).astype(np.float32),
        turned.astype(np.float32), np.append(shift[:, :2], np.zeros((FRAMES, 2)), axis=1).astype(np.float32),
        np.zeros((FRAMES, len(CONTACT_JOINTS)), dtype=np.float32), CONTACT_JOINTS,
        np.zeros(FRAMES, dtype=np.float32), np.zeros((FRAMES, len(ACTIONS)), dtype=np.float32), ACTIONS, FPS,
        {"things": {name: poses.tolist() for name, poses in (things or {}).items()}, "keys": keys or []},
    )  # fmt: skip


def case_of(
    parts: dict[str, list[TriangleMesh]], roles: dict[str, object], action: str = "walk", goal: str = ""
) -> Case:
    """A case whose cuboids say nothing, so that only the meshes count."""
    nothing = Cuboids(np.full((1, 3), 50.0), np.full((1, 3), 0.1))
    role = {Carryable: "carryable", Seat: "seat", type(None): "obstacle"}
    colliders = [Collider(n, nothing, STILL, role[type(roles.get(n))], roles.get(n)) for n in parts]  # type: ignore[arg-type]
    shot = Shot("x", FPS, FRAMES, keys=[ActionKey(action, "goal")], goals=[Goal("goal", [0.0] * 3, None, goal)],
                colliders=colliders, start=[0.0] * 4)  # fmt: skip
    return Case("test", 0, shot, parts)


def at(places: Array) -> Array:
    """Poses (T, 7) of a thing that does not turn."""
    return np.concatenate((np.broadcast_to(places, (FRAMES, 3)), np.tile([1.0, 0, 0, 0], (FRAMES, 1))), axis=1)


SEAT = Seat([0.0, 0.0, 0.5], [0.0, -1.0, 0.0], 0.5, 0.5)


def test_a_body_beside_things_is_in_none() -> None:
    case = case_of({"Wall": [block((-1.0, 0.2, 0.0), (1.0, 0.4, 2.0)).mesh]}, {})
    assert mesh_contact(case, motion_of(np.zeros((FRAMES, 3))))["body_max_cm"] == 0


@pytest.mark.parametrize(("front", "deep"), [(-0.06, True), (0.1, False)])
def test_a_shin_in_the_front_of_the_used_seat_counts(front: float, deep: bool) -> None:
    case = case_of({"Seat": [block((-0.5, front, 0.1), (0.5, 0.5, 0.4)).mesh]}, {"Seat": SEAT}, "sit", "Seat")
    found = contact_of(case, motion_of(np.zeros((FRAMES, 3))))
    assert (found.body_worst.cm > 5) == deep
    assert not deep or (found.body_worst.part.endswith("Leg") and found.body_worst.thing == "Seat")


def test_the_trunk_may_press_into_the_seat_that_is_used_and_into_no_other_thing() -> None:
    # 2 cm in the trunk's capsule from below, and too narrow to touch the thighs.
    slab = block((-0.01, -0.05, 0.0), (0.01, 0.05, HIPS_HEIGHT - 0.09)).mesh
    still = motion_of(np.zeros((FRAMES, 3)))
    assert mesh_contact(case_of({"Seat": [slab]}, {"Seat": SEAT}, "sit", "Seat"), still)["body_max_cm"] == 0
    assert mesh_contact(case_of({"Seat": [slab]}, {}, "walk"), still)["body_max_cm"] > 1.5


@pytest.mark.parametrize("height", [0.0, 0.004, 0.02, -0.01])
def test_the_height_of_a_thing_over_its_support_is_measured_on_the_meshes(height: float) -> None:
    box = block((-0.2, -0.15, -0.1), (0.2, 0.15, 0.1)).mesh
    table = block((1.0, -1.0, 0.7), (2.0, 1.0, 0.75)).mesh
    place = np.zeros((FRAMES, 3))
    place[:, 2] = 0.1
    place[30:] = [1.4, 0.0, 0.85 + height]
    grasp = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, -1.0, 0.0])
    case = case_of({"Box": [box], "Table": [table]}, {"Box": grasp})
    found = mesh_contact(case, motion_of(np.full((FRAMES, 3), 5.0), {"Box": at(place)}))
    assert found["placed_height_mm"] == pytest.approx(1000 * height, abs=0.01)
    assert found["carried_max_cm"] == pytest.approx(max(-100 * height, 0), abs=0.01)


def test_a_board_through_a_carried_box_counts() -> None:
    box = block((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2)).mesh
    shelf = block((0.8, -1.0, 0.99), (1.5, 1.0, 1.01)).mesh
    place = np.zeros((FRAMES, 3))
    place[:, 0], place[:, 2] = np.linspace(-1, 1, FRAMES), 1.0
    grasp = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, -1.0, 0.0])
    case = case_of({"Box": [box], "Shelf": [shelf]}, {"Box": grasp})
    found = contact_of(case, motion_of(np.full((FRAMES, 3), 5.0), {"Box": at(place)}))
    assert found.carried_worst.cm > 10 and found.carried_worst.thing == "Shelf"
    # Before it comes there it is in nothing.
    assert found.carried[: len(found.carried) // 3].max() == 0


def test_the_deepest_of_a_frame_is_that_of_the_body_or_of_what_it_carries() -> None:
    """The box goes 5 cm into the shelf in the second half; the trunk is in a wall only in the first."""
    box = block((-0.2, -0.15, -0.1), (0.2, 0.15, 0.1)).mesh
    shelf = block((2.0, -1.0, 0.0), (3.0, 1.0, 0.75)).mesh
    wall = block((-1.0, -0.05, 0.0), (1.0, 0.05, 2.0)).mesh
    place, shift = np.zeros((FRAMES, 3)), np.zeros((FRAMES, 3))
    place[:, 0], place[:, 2], shift[30:] = 5.0, 0.1, [0.0, -4.0, 0.0]
    place[20:, 2] = 1.5
    place[30:] = [2.5, 0.0, 0.8]
    grasp = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, -1.0, 0.0])
    case = case_of({"Box": [box], "Shelf": [shelf], "Wall": [wall]}, {"Box": grasp})
    frames = np.arange(0, FRAMES, 3)
    found = contact_of(case, motion_of(shift, {"Box": at(place)}), frames)
    assert len(found.deepest) == len(frames) == len(found.body)
    assert found.deepest[:10].min() == pytest.approx(found.body_worst.cm) and found.body_worst.cm > 10
    np.testing.assert_allclose(found.deepest[10:], 5.0, atol=0.01)
    assert len(found.carried) < len(frames) and found.carried.max() == pytest.approx(5.0, abs=0.01)


def test_a_box_that_is_taken_in_the_last_frame_is_in_nothing() -> None:
    box = block((-0.2, -0.15, -0.1), (0.2, 0.15, 0.1)).mesh
    table = block((1.0, -1.0, 0.7), (2.0, 1.0, 0.75)).mesh
    place = np.zeros((FRAMES, 3))
    place[-1] = [0.0, 0.0, 0.02]
    grasp = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, -1.0, 0.0])
    case = case_of({"Box": [box], "Table": [table]}, {"Box": grasp})
    found = mesh_contact(case, motion_of(np.full((FRAMES, 3), 5.0), {"Box": at(place)}))
    assert found.get("carried_max_cm", 0.0) == 0.0


def test_pelvis_and_back_are_measured_while_seated() -> None:
    height, gap = 0.5, 0.1
    joints = MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftUpLeg")]
    shift = np.zeros((FRAMES, 3))
    shift[:, 2] = height + 0.03 + SEAT_BELOW_HIP_JOINTS - joints[2] - HIPS_HEIGHT
    seat = [block((-0.4, -0.4, 0.4), (0.4, 0.3, height)).mesh, block((-0.4, 0.11 + gap, height), (0.4, 0.5, 1.2)).mesh]
    keys = [{"action": "sit", "goal": "goal", "trouble": "", "set_off": 0, "arrived": 10, "done": 40}]
    case = case_of({"Seat": seat}, {"Seat": SEAT}, "sit", "Seat")
    found = mesh_contact(case, motion_of(shift, keys=keys))  # type: ignore[arg-type]
    assert found["pelvis_seat_cm"] == pytest.approx(3.0, abs=0.1)
    assert found["back_cm"] == pytest.approx(100 * gap, abs=3.0)
