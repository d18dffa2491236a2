# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in processes of this machine, and on a Dask cluster of two workers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.errors import UserError
from nsm_blender.motion.motion import Motion
from nsm_blender.shot.shot import PathFollow, Shot
from nsm_blender.workers import each

from .squares import squared
from .test_nsm_cli import captures as captures


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster with two workers on this machine."""
    distributed: Any = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as found:
        yield found.scheduler_address


@pytest.fixture(params=["processes", "cluster"])
def address(request: pytest.FixtureRequest) -> str | None:
    if request.param == "processes":
        return None
    found: str = request.getfixturevalue("cluster")
    return found


def test_each_item_is_worked_on_once_in_other_processes(address: str | None) -> None:
    found = dict(each(squared, range(12), 2, address))
    assert {number: square for number, (square, _) in found.items()} == {n: n**2 for n in range(12)}
    working = {process for _, process in found.values()}
    assert os.getpid() not in working and len(working) <= 2


def test_a_mistake_of_the_user_is_told_as_it_is(address: str | None) -> None:
    with pytest.raises(UserError, match="-1 is too little"):
        list(each(squared, [1, -1], 2, address))


def test_nothing_is_started_for_nothing() -> None:
    assert list(each(squared, [], 2, "tcp://127.0.0.1:1")) == []


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("nsm_blender.workers._ANSWERS", 0.5)
    with pytest.raises(UserError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers there"):
        list(each(squared, [1], 2, "tcp://127.0.0.1:1"))


def test_episodes_are_the_same_on_a_cluster(
    captures: Path, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, more in (("processes", ["--processes", "1"]), ("cluster", ["--cluster", cluster])):
        where = ["--data", os.path.relpath(captures), "--out", name]
        assert main(["data", "compose", *where, "--kind", "all", "--count", "4", "--walks", "0", *more]) == 0
    parts = sorted(path.relative_to("processes") for path in Path("processes").glob("*/*.npy"))
    assert parts
    for part in parts:
        np.testing.assert_array_equal(np.load("cluster" / part), np.load("processes" / part))


def test_the_nsm_is_measured_alike_on_a_cluster(cluster: str, tmp_path: Path) -> None:
    told = []
    for name, more in (("processes", ["--processes", "1"]), ("cluster", ["--cluster", cluster])):
        out = tmp_path / f"{name}.json"
        asked = ["--tables", "components", "--cases", "1", "0", "0", "--components", "root_limits"]
        assert main(["evaluate", "nsm", *asked, "--json", str(out), *more]) == 0
        told.append({key: value for key, value in json.loads(out.read_text()).items() if key != "meta"})
    assert told[0] and told[0] == told[1]


def walk_aside(meters: float) -> Shot:
    """Walking ahead along a line that leads aside by so many meters."""
    points = [[0.0, 0.0, 0.0], [meters, -3.0, 0.0]]
    path = PathFollow(points=points, speeds=[1.2] * 40, gaits=["walk"] * 40, facing_offsets=[0.0] * 40)
    return Shot("walk", 24.0, 40, path=path)


def test_many_shots_are_baked_as_they_are_alone(address: str | None, tmp_path: Path) -> None:
    shots = [tmp_path / f"{name}.json" for name in ("left", "right")]
    for shot, side in zip(shots, (1.0, -1.0), strict=True):
        walk_aside(side).save(shot)
    more = [] if address is None else ["--cluster", address]
    assert main(["bake", *map(str, shots), "--out", str(tmp_path / "farm"), *more]) == 0
    for shot in shots:
        assert main(["bake", str(shot), "--out", str(tmp_path / "alone.npz")]) == 0
        alone, farm = Motion.load(tmp_path / "alone.npz"), Motion.load(tmp_path / "farm" / f"{shot.stem}.npz")
        np.testing.assert_allclose(farm.positions, alone.positions, atol=1e-6)


def test_a_shot_that_cannot_be_baked_keeps_no_other_from_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk_aside(1.0).save(tmp_path / "well.json")
    (tmp_path / "ill.json").write_text("{")
    shots = [str(tmp_path / f"{name}.json") for name in ("ill", "well")]
    assert main(["bake", *shots, "--out", str(tmp_path / "farm")]) == 1
    told = capsys.readouterr().err
    assert "ill.json" in told and "1 of 2 shots were not baked" in told
    assert [path.name for path in (tmp_path / "farm").iterdir()] == ["well.npz"]


def test_shots_of_one_name_are_refused_before_baking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shots = [str(tmp_path / folder / "shot.json") for folder in ("a", "b")]
    assert main(["bake", *shots, "--out", str(tmp_path / "farm")]) == 1
    assert "More than one of the shots is called shot" in capsys.readouterr().err
    assert not (tmp_path / "farm").exists()
