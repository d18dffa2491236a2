# SPDX-License-Identifier: GPL-3.0-or-later
"""Voxels become few cuboids that fill exactly the same space."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Cuboids
from nsm_blender.geometry.cuboids import cuboids_of, merge
from nsm_blender.geometry.voxels import Voxels, voxelize
from nsm_blender.motion.rotations import Array

from .solids import SOLIDS, turned

SIZE = 0.08
ORIGIN = np.array([0.3, -1.0, 2.0])


def covered(cuboids: Cuboids, voxels: Voxels) -> Array:
    """How many cuboids each cell is in; all cuboids must end at the borders of cells."""
    out = np.zeros(voxels.filled.shape, dtype=int)
    ends = [(cuboids.center + sign * cuboids.half - voxels.origin) / voxels.size for sign in (-1, 1)]
    low, high = (np.round(end).astype(int) for end in ends)
    assert np.abs(ends[0] - low).max() < 1e-6
    assert np.abs(ends[1] - high).max() < 1e-6
    for start, end in zip(low, high, strict=True):
        out[tuple(map(slice, start, end))] += 1
    return out


def examples() -> dict[str, Voxels]:
    rng = np.random.default_rng(0)
    out = {name: voxelize(turned(make(), 5).mesh, SIZE) for name, make in SOLIDS.items()}
    out["noise"] = Voxels(ORIGIN, SIZE, rng.random((12, 9, 15)) < 0.4)
    out["one"] = Voxels(ORIGIN, SIZE, np.ones((1, 1, 1), dtype=bool))
    out["full"] = Voxels(ORIGIN, SIZE, np.ones((7, 3, 5), dtype=bool))
    return out


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_cuboids_are_the_voxels_and_do_not_overlap(name: str) -> None:
    voxels = EXAMPLES[name]
    assert np.array_equal(covered(merge(voxels), voxels), voxels.filled.astype(int))


def merged_at_random(filled: Array, rng: np.random.Generator) -> int:
    """How many cuboids remain when voxels are merged in pairs, in a random order, until no pair makes a cuboid."""
    lows = rng.permutation(np.argwhere(filled)).tolist()
    end = {tuple(low): tuple(v + 1 for v in low) for low in lows}
    start = {high: low for low, high in end.items()}
    waiting = list(end)
    while waiting:
        low = waiting.pop()
        if low not in end:
            continue
        for axis in rng.permutation(3).tolist():
            others = [i for i in range(3) if i != axis]
            high = end[low]
            after = tuple(high[i] if i == axis else low[i] for i in range(3))
            before = start.get(tuple(low[i] if i == axis else high[i] for i in range(3)))
            if after in end and all(end[after][i] == high[i] for i in others):
                pair = (low, after)
            elif before is not None and all(before[i] == low[i] for i in others):
                pair = (before, low)
            else:
                continue
            del start[end[pair[0]]]
            end[pair[0]] = end.pop(pair[1])
            start[end[pair[0]]] = pair[0]
            waiting.append(pair[0])
            break
    return len(end)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_random_order_of_merging_is_much_better(name: str) -> None:
    """Ten orders, drawn anew for each pair."""
    filled = EXAMPLES[name].filled
    rng = np.random.default_rng(1)
    best = min(merged_at_random(filled, rng) for _ in range(10))
    assert len(merge(EXAMPLES[name]).center) <= 1.5 * best


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_two_cuboids_that_remain_make_a_cuboid(name: str) -> None:
    cuboids = merge(EXAMPLES[name])
    low, high = cuboids.center - cuboids.half, cuboids.center + cuboids.half
    for axis in range(3):
        b, c = (a for a in range(3) if a != axis)
        sections = np.round(np.column_stack((low[:, [b, c]], high[:, [b, c]])) / SIZE, 3)
        ends = {(*s, e) for s, e in zip(sections.tolist(), np.round(high[:, axis] / SIZE, 3).tolist(), strict=True)}
        starts = {(*s, e) for s, e in zip(sections.tolist(), np.round(low[:, axis] / SIZE, 3).tolist(), strict=True)}
        assert not ends & starts


def test_no_voxels_give_no_cuboids() -> None:
    assert len(merge(Voxels(ORIGIN, SIZE, np.zeros((3, 4, 5), dtype=bool))).center) == 0


def test_a_mesh_of_one_box_is_one_cuboid() -> None:
    cuboids = cuboids_of(SOLIDS["cuboid"]().mesh, 0.05)
    assert cuboids.center == pytest.approx(np.zeros((1, 3)), abs=1e-9)
    assert cuboids.half == pytest.approx(np.array([[0.45, 0.3, 0.6]]))


@pytest.mark.parametrize("name", SOLIDS)
def test_cuboids_end_where_the_mesh_ends(name: str) -> None:
    mesh = turned(SOLIDS[name](), 3).mesh
    cuboids = cuboids_of(mesh, SIZE)
    np.testing.assert_allclose((cuboids.center - cuboids.half).min(axis=0), mesh.vertices.min(axis=0), atol=1e-9)
    np.testing.assert_allclose((cuboids.center + cuboids.half).max(axis=0), mesh.vertices.max(axis=0), atol=1e-9)
