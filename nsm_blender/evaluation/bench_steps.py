# SPDX-License-Identifier: GPL-3.0-or-later
"""The longest single piece of each kind of work: Esc is noticed between two pieces, and so within that time.

Run as a module, it prints its result as JSON: `measure_apart` does so in a process of its own, on one thread. Measured
is the processor's time, as what else runs on the machine is nothing to the work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import process_time

import numpy as np

from ..api.work import Steps
from ..baking.bake import Bake
from ..baking.nsm import SceneBake
from ..geometry.cuboids import finding_cuboids
from ..geometry.mesh import TriangleMesh
from ..geometry.proposals import guessing_role
from ..geometry.rooms import random_room
from ..manifold.edit import Edit
from ..manifold.strike import StrikeShot, StrikeSynthesis, Target
from ..manifold.style import load_styles
from ..manifold.synthesis import Crowd, Synthesis
from ..models.manifold import FPS
from ..paths import weights_folder
from ..rollout.nsm_network import able
from ..shot.shot import Shot
from ..stepwise import Stepwise
from ..tasks.validation import checking
from .bench import ONE_THREAD
from .bench_manifold import Figures, usual, walk
from .nsm_endurance import random_shot
from .rig_bodies import retargeter
from .rig_skins import body

SECONDS = {"pfnn": 600.0, "nsm": 120.0, "synthesis": 300.0, "strikes": 60.0, "edit": 300.0, "style": 300.0,
           "body": 300.0, "back": 300.0}  # fmt: skip
"""Length of the shot that each kind of work is measured on: several times what animators ask for."""
_KEYS, _ROOM = 40, 100_001
"""Keys of the NSM's shot, and the seed of its room."""
_SCAN = 708
"""Points along an edge of the scan that is wrapped: a million triangles."""
_CROWD = 20
"""Walkers of a crowd, for 10 s."""


def measure_apart() -> Figures:
    """`measure` in another process."""
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    result: Figures = json.loads(done.stdout)
    return result


def measure() -> Figures:
    """Milliseconds by name, as "bench.steps.pfnn_ms". Raises WeightsError."""
    return {f"bench.steps.{name}_ms": 1e3 * longest(pieces()) for name, pieces in _WORK.items()}


def longest(pieces: Iterator[None]) -> float:
    """Seconds of processor time of the longest piece."""
    most, start = 0.0, process_time()
    for _ in pieces:
        now = process_time()
        most, start = max(most, now - start), process_time()
    return most


def _stepped(work: Steps) -> Iterator[None]:
    yield
    while not work.done:
        work.step()
        yield


def _each(work: Stepwise[object]) -> Iterator[None]:
    yield
    yield from work
    yield


def _errands() -> Shot:
    rng = np.random.default_rng(5)
    shot = random_shot(random_room(_ROOM), able(), rng, _KEYS)
    shot.frames = round(SECONDS["nsm"] * shot.fps)
    return shot


def _strikes() -> StrikeShot:
    times = np.arange(2.0, SECONDS["strikes"] - 2, 4.0).tolist()
    targets = [Target("RightHand", (0.0, 0.0, 1.35), time) for time in times]
    return StrikeShot("strikes", FPS, round(SECONDS["strikes"] * FPS), targets)


def _edit() -> Iterator[None]:
    return _stepped(Edit(Synthesis(walk(SECONDS["edit"])).motion(), usual()))


def _style() -> Iterator[None]:
    style = load_styles(weights_folder() / "styles.safetensors")["zombie"]
    return _stepped(Edit(Synthesis(walk(SECONDS["style"])).motion(), style=style))


def _onto_a_body() -> Iterator[None]:
    """A motion onto a rig whose arms have to keep out of its hips."""
    made = body("broad hips")
    return _each(retargeter(made, made.skin).going(Synthesis(walk(SECONDS["body"])).motion()))


def _back_from_a_rig() -> Iterator[None]:
    """A motion read back from a rig of other proportions."""
    target = retargeter(body("child"))
    there = target.to_rig(Synthesis(walk(SECONDS["back"])).motion())
    return _each(target.coming_back(there.hips, there.rotations, there.fps))


def _scan() -> TriangleMesh:
    x, y = np.meshgrid(np.linspace(-2, 2, _SCAN), np.linspace(-2, 2, _SCAN))
    places = np.stack([x, y, 0.5 + 0.2 * np.sin(3 * x) * np.cos(4 * y)], axis=-1).reshape(-1, 3)
    index = np.arange(_SCAN * _SCAN).reshape(_SCAN, _SCAN)
    a, b, c, d = (part.reshape(-1) for part in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    return TriangleMesh(places, np.concatenate((np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1))))


_WORK: dict[str, Callable[[], Iterator[None]]] = {
    "pfnn": lambda: _stepped(Bake(walk(SECONDS["pfnn"]))),
    "check": lambda: _each(checking(_errands())),
    "nsm": lambda: _stepped(SceneBake(_errands())),
    "synthesis": lambda: _stepped(Synthesis(walk(SECONDS["synthesis"]))),
    "crowd": lambda: _stepped(Crowd([walk(10.0, aside=float(number)) for number in range(_CROWD)])),
    "strikes": lambda: _stepped(StrikeSynthesis(_strikes())),
    "edit": _edit,
    "style": _style,
    "body": _onto_a_body,
    "back": _back_from_a_rig,
    "cuboids": lambda: _each(finding_cuboids(_scan())),
    "role": lambda: _each(guessing_role(_scan())),
}
"""Each kind of work in its pieces; making it is no piece."""


if __name__ == "__main__":
    print(json.dumps(measure()))
