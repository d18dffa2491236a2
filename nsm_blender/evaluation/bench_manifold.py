# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the motion manifold is: Table 1 of Holden et al. 2016, with the paper's durations.

Run as a module with a folder of weights, it prints its result as JSON: `measure_apart` does so in a process of
its own, because a BLAS reads its number of threads when NumPy is imported.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..manifold.constraints import Constraint, FloorHeight, FootSkate, KeepTrajectory, PinJoint
from ..manifold.edit import Edit
from ..manifold.frames import to_world_positions
from ..manifold.rotations_from_positions import rotations_of
from ..manifold.strike import StrikeShot, StrikeSynthesis, Target
from ..manifold.style import Style, load_styles
from ..manifold.synthesis import Crowd, Networks, Options, Synthesis, footsteps, synthesize
from ..manifold.synthesis_trajectory import Course
from ..models.manifold import FPS, FRAME, UNITS, WIDTH, Autoencoder
from ..models.synthesis import LAYERS, STEP_UNITS, STEP_WIDTHS, TRAJECTORY, WAVES, EndEffectors
from ..motion.motion import Motion
from ..motion.rotations import Array, make_continuous
from ..shot.shot import PathFollow, Shot, per_frame
from .bench import ONE_THREAD, gemm_rate

FILES = ("autoencoder", "footsteps", "locomotion", "end_effectors", "styles")
"""Names of the weights files of the manifold, without their ending."""
CORES = 2
"""Threads of the products; the rest of the engine runs on one."""
WALK_SECONDS, STRIKE_SECONDS, STYLE_SECONDS, CROWD_SECONDS, CROWD_SIZE = 60, 4, 8, 10, 200
"""Seconds of the motions of Table 1, and characters of its crowd."""
WALK_SPEED = 1.4
"""Speed in m/s of the walk."""
_REPETITIONS = 5
"""Timings of which the median counts."""
_STYLE = "zombie"

Figures = dict[str, float]


def missing(folder: Path) -> list[str]:
    """The weights files of the manifold that a folder lacks."""
    return [f"{name}.safetensors" for name in FILES if not (folder / f"{name}.safetensors").is_file()]


def measure_apart(folder: Path, python: Path | str = sys.executable) -> Figures:
    """`measure` in another process, on CORES threads. python: whose NumPy is measured."""
    threads = dict.fromkeys(ONE_THREAD, str(min(CORES, os.cpu_count() or 1)))
    command = [str(python), "-m", __name__, str(folder.resolve())]
    here = Path(__file__).resolve().parents[2]  # where another Python finds this package
    done = subprocess.run(command, cwd=here, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True)
    result: Figures = json.loads(done.stdout)
    return result


def measure(folder: Path) -> Figures:
    """Seconds by name, such as "walk_60s.footsteps", and "<name>.ratio_to_limit" where the arithmetic is known.

    Raises WeightsError.
    """
    networks = Networks.load(folder)
    strikes = EndEffectors.load(folder / "end_effectors.safetensors")
    styles = load_styles(folder / "styles.safetensors")
    style = styles.get(_STYLE) or next(iter(styles.values()))
    return _walk(networks) | _punch(networks.autoencoder, strikes) | _restyle(networks, style) | _crowd(networks)


def _walk(networks: Networks) -> Figures:
    synthesis = Synthesis(walk(WALK_SECONDS), networks=networks)
    course, option = [synthesis.course], [Options()]
    inputs = footsteps(networks, course, option).inputs()
    raw = as_synthesized(synthesis)
    out = {
        "walk_60s.footsteps": _seconds(lambda: footsteps(networks, course, option)),
        "walk_60s.synthesis": _seconds(lambda: synthesize(networks, inputs)),
        "walk_60s.planted": _seconds(lambda: Synthesis(walk(WALK_SECONDS), networks=networks).motion()),
        "walk_60s.editing": _seconds(lambda: Edit(raw, usual(), autoencoder=networks.autoencoder).motion(), 3),
    }
    rate = gemm_rate()
    frames = inputs.shape[1]
    for part, products in (("footsteps", _footstep_products()), ("synthesis", _synthesis_products())):
        name = f"walk_60s.{part}"
        out[f"{name}.ratio_to_limit"] = out[name] / (2 * products * frames / rate)
    return out


def _footstep_products() -> int:
    """Multiplications a frame of eq. 9."""
    return STEP_UNITS * (TRAJECTORY.size * STEP_WIDTHS[0] + WAVES.size * STEP_WIDTHS[1])


def _synthesis_products() -> int:
    """Multiplications a frame of eq. 4 and of the decoder at half rate."""
    sizes = (7, *(units for units, _ in LAYERS))
    layers = sum(a * b * width for a, b, (_, width) in zip(sizes, sizes[1:], LAYERS, strict=False))
    return layers + (WIDTH // 2 + 1) * UNITS * FRAME.size


def _punch(autoencoder: Autoencoder, network: EndEffectors) -> Figures:
    shot = punch()
    motion = StrikeSynthesis(shot, autoencoder, network).motion()
    hit = round(shot.targets[0].time * FPS)
    pin = PinJoint(hit, hit + 1, joint=shot.targets[0].effector, places=[shot.targets[0].place], ease=0.25)
    out = {
        "punch_4s.synthesis": _seconds(lambda: StrikeSynthesis(shot, autoencoder, network).motion()),
        "punch_4s.editing": _seconds(lambda: Edit(motion, [pin, *usual()], autoencoder=autoencoder).motion()),
    }
    return out | {"punch_4s.total": out["punch_4s.synthesis"] + out["punch_4s.editing"]}


def _restyle(networks: Networks, style: Style) -> Figures:
    motion = Synthesis(walk(STYLE_SECONDS), networks=networks).motion()
    return {"style_8s.total": _seconds(lambda: Edit(motion, style=style, autoencoder=networks.autoencoder).motion())}


def _crowd(networks: Networks) -> Figures:
    shots = [walk(CROWD_SECONDS, aside=float(i)) for i in range(CROWD_SIZE)]
    return {"crowd_200x10s.total": _seconds(lambda: Crowd(shots, networks=networks).motions(), 2)}


def walk(seconds: float, aside: float = 0.0, speed: Array | float = WALK_SPEED) -> Shot:
    """A walk along a wave of 1 m and 12 m at 60 fps."""
    x = np.linspace(0, 3 * WALK_SPEED * max(seconds, 1), 2000)
    points = np.stack((x, aside + np.sin(2 * math.pi * x / 12), np.zeros_like(x)), axis=1)
    frames = round(seconds * FPS)
    follow = PathFollow(points.tolist(), per_frame(speed, frames), ["walk"] * frames, per_frame(0.0, frames))
    return Shot("walk", FPS, frames, follow)


def punch() -> StrikeShot:
    """A punch at shoulder height in the middle of 4 s."""
    frames = round(STRIKE_SECONDS * FPS)
    return StrikeShot("punch", FPS, frames, [Target("RightHand", (0.0, 0.0, 1.35), STRIKE_SECONDS / 2)])


def usual() -> list[Constraint]:
    """The constraints of the paper's editing: feet that stand, the trajectory; and the floor."""
    return [FootSkate(), KeepTrajectory(), FloorHeight()]


def as_synthesized(synthesis: Synthesis) -> Motion:
    """What the networks made before anything corrects it: feet slide, and bones change their lengths a little."""
    return unplanted(synthesis.motion(), synthesis.course, synthesis.frames(), synthesis.contacts())


def unplanted(motion: Motion, course: Course, frames: Array, contacts: Array) -> Motion:
    """`motion`, made at 60 fps along `course`, with the poses (T, FRAME.size) of the networks instead."""
    root = np.zeros((len(frames), 4))
    root[:, [0, 1, 3]] = course.track
    places = to_world_positions(frames, root)
    return replace(
        motion,
        positions=places.astype(np.float32),
        rotations=make_continuous(rotations_of(places)).astype(np.float32),
        root=root.astype(np.float32),
        contacts=(contacts > 0).astype(np.float32),
    )


def _seconds(call: Callable[[], Any], repetitions: int = _REPETITIONS) -> float:
    """Median time of `call` after warming up."""
    call()
    times = []
    for _ in range(repetitions):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return float(np.median(times))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
