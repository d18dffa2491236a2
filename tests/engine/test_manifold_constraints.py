# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints: exact gradients, what they ask for, and files."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import EditError
from nsm_blender.manifold import constraints as module
from nsm_blender.manifold.constraints import (
    Base,
    BoneLengths,
    Constraint,
    FloorHeight,
    FootSkate,
    KeepTrajectory,
    LookAt,
    PinJoint,
    PoseKey,
)
from nsm_blender.manifold.frames import to_frames
from nsm_blender.manifold.kinematics import Kinematics
from nsm_blender.manifold.terms import FootSlide, Term
from nsm_blender.models.manifold import FPS, FRAME
from nsm_blender.motion.labels import label
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON

from .synthetic import perform


def cost_and_gradient(terms: list[Term], at: Kinematics) -> tuple[float, Array]:
    """Sum of the terms' costs, and its gradient (T, FRAME.size) with respect to the frames, of their residuals."""
    out, total = np.zeros_like(at.frames), 0.0
    for term in terms:
        residual = term.residual(at)
        total += float(np.sum(residual * residual, dtype=np.float64))
        term.gradient(at, residual, out)
    return total, 2 * out


def walk(**options):
    clip = perform(1.2, 1.5, turn=0.4, start=(1.0, 2.0, 0.7), **options).clip
    labels = label(clip)
    frames = to_frames(clip.world()[0], labels.root, labels.contacts).astype(np.float64)
    root = labels.root[0].astype(float)
    return Base(frames, tuple(root), labels.contacts)


def every_foot(base: Base) -> FootSlide:
    """Feet held in all frames in which they stand."""
    return FootSlide(np.minimum(base.contacts[:-1], base.contacts[1:]))


def noisy(base: Base, size: float = 0.02):
    noise = np.random.default_rng(1).normal(size=base.frames.shape)
    return base.frames + size * noise


POSE = (MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, 0.9])).tolist()
ALL: dict[str, Constraint] = {
    "pin": PinJoint(30, 50, joint="LeftHand", places=[[1.0, 2.5, 1.0]]),
    "pin on a track": PinJoint(30, 40, joint="Head", places=[[1.0, 2.0, 1.5 + 0.01 * i] for i in range(10)]),
    "feet": FootSkate(weight=2.0),
    "trajectory": KeepTrajectory(10, 60),
    "a given trajectory": KeepTrajectory(0, 40, root=[[0.01 * i, 0.02 * i, 0.01 * i] for i in range(40)]),
    "bones": BoneLengths(),
    "floor": FloorHeight(height=0.05),
    "look": LookAt(20, 60, target=[[3.0, 5.0, 1.5]]),
    "pose": PoseKey(40, 41, places=POSE),
}


@pytest.mark.parametrize("name", ALL)
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    base = walk()
    term = ALL[name].term(base)
    at, step = noisy(base), 2e-4
    _, gradient = cost_and_gradient([term], Kinematics(at, base.start))
    for seed in range(3):
        direction = np.random.default_rng(seed).normal(size=at.shape)
        ends = [cost_and_gradient([term], Kinematics(at + s * step * direction, base.start))[0] for s in (1, -1)]
        assert np.vdot(gradient, direction) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-3)


@pytest.mark.parametrize("name", ALL)
def test_tangent_and_gradient_are_transposes(name: str) -> None:
    base = walk()
    term = ALL[name].term(base)
    at = Kinematics(noisy(base), base.start)
    rng = np.random.default_rng(2)
    residual = rng.normal(size=term.residual(at).shape)
    change, out = rng.normal(size=base.frames.shape), np.zeros_like(base.frames)
    term.gradient(at, residual, out)
    assert np.vdot(residual, term.tangent(at, change)) == pytest.approx(np.vdot(out, change), rel=1e-4)


def test_the_gradient_of_a_pin_is_autograd_s_through_the_integrated_root() -> None:
    torch = pytest.importorskip("torch")
    base = walk()
    place, joint = [1.5, 2.5, 1.0], MODEL_SKELETON.index("RightHand")
    term = PinJoint(60, 61, joint="RightHand", places=[place], ease=0).term(base)
    at = noisy(base)
    _, gradient = cost_and_gradient([term], Kinematics(at, base.start))

    x = torch.tensor(at, requires_grad=True)
    angle, xy = torch.tensor(base.start[3]), torch.tensor(base.start[:2])
    for t in range(60):
        v = x[t, FRAME.root_velocity] / FPS
        c, s = torch.cos(angle), torch.sin(angle)
        xy = xy + torch.stack((c * v[0] - s * v[1], s * v[0] + c * v[1]))
        angle = angle + x[t, FRAME.root_turn.start] / FPS
    p = x[60, FRAME.joint_position].reshape(-1, 3)[joint]
    c, s = torch.cos(angle), torch.sin(angle)
    world = torch.stack((c * p[0] - s * p[1] + xy[0], s * p[0] + c * p[1] + xy[1], p[2]))
    (((world - torch.tensor(place)) / 0.01) ** 2).sum().backward()
    np.testing.assert_allclose(gradient, x.grad.numpy(), rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


def test_the_gradient_of_sliding_feet_is_autograd_s_of_world_velocities() -> None:
    torch = pytest.importorskip("torch")
    base = walk()
    at = noisy(base)
    _, gradient = cost_and_gradient([every_foot(base)], Kinematics(at, base.start))

    x = torch.tensor(at, requires_grad=True)
    total = torch.zeros(())
    for t in range(len(base) - 1):
        turn = x[t, FRAME.root_turn.start] / FPS
        c, s = torch.cos(turn), torch.sin(turn)
        v = x[t, FRAME.root_velocity] / FPS
        for column, name in enumerate(CONTACT_JOINTS):
            if base.contacts[t, column] and base.contacts[t + 1, column]:
                j = 3 * MODEL_SKELETON.index(name)
                p, q = x[t, j : j + 3], x[t + 1, j : j + 3]
                ahead = torch.stack((c * q[0] - s * q[1] + v[0], s * q[0] + c * q[1] + v[1], q[2]))
                total = total + ((FPS * (ahead - p) / 0.1) ** 2).sum()
    total.backward()
    np.testing.assert_allclose(gradient, x.grad.numpy(), rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


def test_a_walk_with_rigid_bones_and_planted_feet_costs_nothing() -> None:
    base = walk()
    for constraint in (BoneLengths(), FootSkate(), KeepTrajectory()):
        cost, _ = cost_and_gradient([constraint.term(base)], base.kinematics)
        assert cost / len(base) < 1e-2, constraint.kind


def test_feet_that_move_with_the_body_cost_as_much_as_they_slide() -> None:
    base = walk()
    faster = base.frames.copy()
    faster[:, FRAME.root_velocity.start + 1] -= 0.1
    cost, _ = cost_and_gradient([every_foot(base)], Kinematics(faster, base.start))
    still = (base.contacts[1:] * base.contacts[:-1]).sum()
    assert cost == pytest.approx(still, rel=0.05), "0.1 m/s is one unit"


def test_a_heel_is_let_go_before_it_rises_and_a_toe_held_to_the_end() -> None:
    contacts = np.zeros((90, 4))
    contacts[20:40, [CONTACT_JOINTS.index("LeftFoot"), CONTACT_JOINTS.index("LeftToe")]] = 1
    base = replace(walk(), contacts=contacts)
    sliding = Kinematics(noisy(base), base.start)
    terms = FootSkate().term(base), every_foot(base)
    left = [CONTACT_JOINTS.index(name) for name in ("LeftFoot", "LeftToe")]
    heel, toe = np.divide(*(np.linalg.norm(term.residual(sliding)[20:39, left], axis=-1) for term in terms)).T
    np.testing.assert_allclose(toe, 1)
    np.testing.assert_allclose(heel[:10], 1)
    assert (np.diff(heel) <= 0).all()
    assert heel[-1] < 0.5


def test_a_head_that_can_turn_far_enough_needs_no_help_of_the_body() -> None:
    base = walk()
    head = base.kinematics.world([MODEL_SKELETON.index("Head")])[40, 0]
    facing = base.kinematics.root[40, 3]
    ahead = head + np.array([2 * np.sin(facing), -2 * np.cos(facing), 0.0])
    behind = 2 * head - ahead
    costs = [
        cost_and_gradient([LookAt(40, 41, target=[place.tolist()]).term(base)], base.kinematics)[0]
        for place in (ahead, behind)
    ]
    assert costs[0] == 0
    assert costs[1] > 0


def test_labels_given_by_hand_replace_the_motion_s() -> None:
    base = walk()
    labels = FootSkate(10, 20, contacts=[[1, 0, 1, 0]] * 10).labels(base)
    assert (labels[10:20] == [1, 0, 1, 0]).all()
    np.testing.assert_array_equal(labels[:10], base.contacts[:10])
    np.testing.assert_array_equal(labels[20:], base.contacts[20:])


def test_ranges_count_in_the_motion_s_own_frames() -> None:
    base = walk()
    at_30 = Base(base.frames, base.start, base.contacts, fps=30.0, length=45)
    pin = PinJoint(10, 16, joint="Hips", places=[[0.0, 0.0, float(i)] for i in range(6)])
    assert pin.frames(at_30) == slice(20, 31)
    target, share = pin.target(at_30)
    np.testing.assert_allclose(target[20:31, 2], np.arange(11) / 2)
    assert (share[20:31] == 1).all()


def test_constraints_survive_a_file() -> None:
    given = list(ALL.values())
    text = module.to_json(given)
    base = walk()
    at = Kinematics(noisy(base), base.start)
    for before, after in zip(given, module.from_json(text), strict=True):
        assert type(before) is type(after)
        np.testing.assert_array_equal(before.term(base).residual(at), after.term(base).residual(at))
    assert module.to_json(module.from_json(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not JSON"),
        ("{}", "not a list"),
        ('[{"kind": "magnet"}]', r"constraints\[0\]\.kind is 'magnet', one of pin, foot_skate"),
        ('[{"kind": "pin", "color": 1}]', r"constraints\[0\]\.color means nothing here"),
        ('[{"kind": "pin", "places": "up"}]', r"constraints\[0\]\.places is 'up', a list is needed"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(text: str, message: str) -> None:
    with pytest.raises(EditError, match=f"rail.json.*{message}"):
        module.from_json(text, "rail.json")


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (PinJoint(20, 10), "has no frames"),
        (PinJoint(500, 600), "begins at frame 500; the motion has 90 frames"),
        (PinJoint(joint="Tail"), "no joint 'Tail'"),
        (PinJoint(0, 10, places=[[0, 0, 1]] * 3), "3 entries for 10 frames"),
        (PinJoint(places=[[0, 0]]), "rows of 3 finite numbers"),
        (PinJoint(places=[[0, 0, float("nan")]]), "rows of 3 finite numbers"),
        (FootSkate(weight=-1.0), "weight of the constraint 'foot_skate' is -1"),
        (PoseKey(3, 4, places=[[0, 0, 0]]), "1 joints instead of 22"),
    ],
)
def test_a_constraint_that_does_not_fit_is_refused_with_the_reason(constraint: Constraint, message: str) -> None:
    with pytest.raises(EditError, match=message):
        constraint.term(walk())


def test_the_file_is_plain_data() -> None:
    entries = json.loads(module.to_json([ALL["pin"]]))
    assert entries == [
        {
            "kind": "pin",
            "start": 30,
            "stop": 50,
            "weight": 1.0,
            "joint": "LeftHand",
            "places": [[1.0, 2.5, 1.0]],
            "ease": 0.75,
        }
    ]
