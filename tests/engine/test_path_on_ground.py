# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths over ground: where they begin, what blocks them, gaps that are stepped over; and ground around a path."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.geometry.clipping import clipped
from nsm_blender.geometry.floors import is_floor
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.planning.path import GroundPath
from nsm_blender.planning.path_on_ground import BlockedPathError, Gap, check_path, height_at_start
from nsm_blender.shot.shot import PathFollow, Shot


def solid(name: str, low: tuple[float, float, float], high: tuple[float, float, float]) -> GroundMesh:
    return of_mesh(name, block(low, high).mesh)


def of_mesh(name: str, mesh: TriangleMesh) -> GroundMesh:
    return GroundMesh(name, mesh.vertices.tolist(), mesh.triangles.tolist())


def flight(rise: float, going: float, count: int = 6) -> list[GroundMesh]:
    """Stairs up from x = 2 on, and level behind."""
    return [solid(f"Step {i}", (2 + going * i, -1, 0), (9, 1, rise * (i + 1))) for i in range(count)]


def ramp(degrees: float) -> list[GroundMesh]:
    """A plane that rises from x = 2 to 6."""
    top = 4 * math.tan(math.radians(degrees))
    corners = np.array([[2, -1, 0], [6, -1, top], [6, 1, top], [2, 1, 0]], dtype=float)
    return [of_mesh("Ramp", TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]])))]


def platforms(gap: float, height: float = 1.0) -> list[GroundMesh]:
    return [solid("Near", (-2, -1, 0), (2, 1, height)), solid("Far", (2 + gap, -1, 0), (9, 1, height))]


def checked(meshes: list[GroundMesh], start: float = 0.0, end: float = 5.5) -> list[Gap]:
    path = GroundPath(np.array([[0.0, 0.0, start], [end, 0.0, start]]))
    ground = Ground.of([mesh.mesh() for mesh in meshes])
    return check_path(path, ground, height_at_start(path, ground, start), meshes).gaps


@pytest.mark.parametrize(
    "meshes",
    [
        flight(0.2, 0.24),
        ramp(30),
        [solid("Box", (2, -1, 0), (3, 1, 0.45))],
        [solid("Beam", (2, -1, 1.4), (2.2, 1, 1.6))],
        [solid("Bridge", (2, -1, 2.4), (3, 1, 2.6))],
    ],
    ids=["stairs", "ramp", "box", "beam", "bridge"],
)
def test_what_people_walk_over_is_no_obstruction(meshes: list[GroundMesh]) -> None:
    assert checked(meshes) == []


@pytest.mark.parametrize(
    ("meshes", "kind", "name", "x"),
    [
        ([solid("Wall", (2, -1, 0), (2.2, 1, 2))], "rise", "Wall", 2.0),
        ([solid("Beam", (2, -1, 1.0), (2.2, 1, 1.2))], "ceiling", "Beam", 2.0),
        ([of_mesh("Slope", ramp(45)[0].mesh())], "slope", "Slope", 2.0),
        (flight(0.3, 0.2), "slope", "Step", 2.2),
    ],
)
def test_what_blocks_a_path_is_told_by_name_and_place(meshes: list[GroundMesh], kind: str, name: str, x: float) -> None:
    with pytest.raises(BlockedPathError, match=f"'{name}") as error:
        checked(meshes)
    found = error.value.obstruction
    assert found.kind == kind
    assert found.place[0] == pytest.approx(x, abs=0.25)


def test_a_path_does_not_leave_a_high_platform_and_crosses_no_wide_gap() -> None:
    for meshes in (platforms(0.8), platforms(9.0)):
        with pytest.raises(BlockedPathError, match=r"leaves 'Near' over an edge 1\.00 m deep"):
            checked(meshes, start=1.0)


def test_what_blocks_is_told_at_the_size_of_the_character() -> None:
    with pytest.raises(BlockedPathError) as error:
        checked([solid("Wall", (2, -1, 0), (2.2, 1, 2))])
    assert "At x 4.00 m" in error.value.obstruction.told(2.0)
    assert "rises 4.00 m" in error.value.obstruction.told(2.0)


@pytest.mark.parametrize("curve", [0.0, 0.9, 3.0])
def test_a_path_begins_on_the_nearest_surface_and_not_inside_of_a_solid(curve: float) -> None:
    path, ground = GroundPath(np.array([[0.0, 0, 0], [1, 0, 0]])), Ground.of([m.mesh() for m in platforms(0.3)])
    assert height_at_start(path, ground, curve) == pytest.approx(1.0)


def test_on_two_storeys_the_curve_tells_where_the_walk_begins() -> None:
    path = GroundPath(np.array([[0.0, 0, 0], [1, 0, 0]]))
    ground = Ground.of([block((-1, -1, 2.5), (2, 1, 2.7)).mesh])
    assert height_at_start(path, ground, 1.0) == pytest.approx(0.0)
    assert height_at_start(path, ground, 2.0) == pytest.approx(2.7)


@pytest.mark.parametrize("width", [0.3, 0.45])
def test_a_gap_is_stepped_over_with_no_foot_in_it(width: float) -> None:
    meshes, frames = platforms(width), 240
    (gap,) = checked(meshes, start=1.0)
    assert gap.end - gap.start == pytest.approx(width, abs=0.12)
    follow = PathFollow([[0.0, 0, 1], [5, 0, 1]], [1.1] * frames, ["walk"] * frames, [0.0] * frames)
    motion = Bake(Shot("Walker", 60.0, frames, path=follow, ground=meshes)).motion()
    toes = motion.positions[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])].astype(float)
    standing = motion.contacts[:, [1, 3]] > 0.5
    above = toes[..., 2] - TOE_HEIGHT - 1.0
    assert motion.root[:, 2].min() == pytest.approx(1.0, abs=0.01)
    assert above.min() > -0.02
    assert np.percentile(np.abs(above[standing]), 95) < 0.02
    inside = (toes[..., 0] > 2) & (toes[..., 0] < 2 + width) & standing
    assert not inside.any()


def area(mesh: TriangleMesh) -> float:
    corners = mesh.vertices[mesh.triangles]
    cross: Array = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(0.5 * np.linalg.norm(cross, axis=1).sum())


def test_a_mesh_is_cut_at_the_border_of_a_rectangle() -> None:
    slope = 0.1
    corners = np.array([[-100.0, -100, 0], [100, -100, 0], [0, 150, 0]])
    corners[:, 2] = slope * corners[:, 0]
    far = corners + np.array([1000.0, 0, 0])
    mesh = TriangleMesh(np.concatenate((corners, far)), np.array([[0, 1, 2], [3, 4, 5]]))
    cut = clipped(mesh, np.array([-2.0, -3.0]), np.array([4.0, 5.0]))
    np.testing.assert_allclose(cut.vertices[:, :2].min(0), [-2, -3])
    np.testing.assert_allclose(cut.vertices[:, :2].max(0), [4, 5])
    np.testing.assert_allclose(cut.vertices[:, 2], slope * cut.vertices[:, 0], atol=1e-9)
    assert area(cut) == pytest.approx(6 * 8 * math.hypot(1, slope))
    assert len(clipped(mesh, np.array([300.0, 0]), np.array([310.0, 5])).triangles) == 0


def test_a_small_mesh_within_the_rectangle_stays_whole() -> None:
    mesh = block((0, 0, 0), (1, 2, 3)).mesh
    cut = clipped(mesh, np.array([-1.0, -1]), np.array([5.0, 5]))
    assert len(cut.triangles) == len(mesh.triangles)
    assert area(cut) == pytest.approx(area(mesh))


def test_floors_are_told_from_furniture_and_rooms() -> None:
    assert is_floor(block((0, 0, -0.2), (6, 4, 0)).mesh)
    assert not is_floor(block((0, 0, 0.7), (2.4, 1.2, 0.75)).mesh), "a table"
    assert not is_floor(block((0, 0, 0), (6, 0.2, 2.5)).mesh), "a wall"
    walls = [block((0, 0, -0.1), (4, 4, 0)), *(block((x, 0, 0), (x + 0.1, 4, 2.5)) for x in (0.0, 3.9))]
    assert not is_floor(TriangleMesh.joined([wall.mesh for wall in walls])), "a room"
