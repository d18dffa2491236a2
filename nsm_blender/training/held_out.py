# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion manifold's figures on recordings that no training saw; clips are prepared as for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..evaluation.bench_manifold import Figures
from ..evaluation.manifold import SWAY_SMOOTHING, Log, tell
from ..manifold.frames import contacts_of, joint_places, to_world_positions
from ..manifold.strike import FARTHEST, StrikeShot, StrikeSynthesis, Target
from ..manifold.synthesis import REACH_FRAMES, Networks, Options, footsteps, pose, synthesize
from ..manifold.synthesis_trajectory import Course
from ..models.manifold import FPS, FRAME, Autoencoder
from ..models.synthesis import EFFECTORS, STRIKE_FRAMES, EndEffectors
from ..motion.clip_file import load_library
from ..motion.filters import gaussian
from ..motion.gait import STAND_SPEED
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .autoencoder import clip_frames
from .strike_data import Fight, Strike, fights, strike_clips
from .synthesis_data import Walk, contacts_of_walk, locomotion_clips, walks

_SHORTEST_WALK = 120
"""Frames from which a held-out trajectory has a speed and steps to speak of."""
CURVE_SMOOTHING = 0.3
"""Seconds of the filter that makes a drawn curve of a recorded root track; the least that training saw."""
_BORDER = 12
"""Frames at both ends where the autoencoder sees zeros instead of motion."""


@dataclass(frozen=True)
class HeldOut:
    """Recordings that no training saw: a data folder, and the performers held out."""

    data: Path
    subjects: Sequence[str]


def evaluate(folder: Path, held_out: HeldOut, log: Log = print) -> Figures:
    """All of these figures, of the weights in a folder. Raises UserError."""
    networks = Networks.load(folder)
    strikes = EndEffectors.load(folder / "end_effectors.safetensors")
    out = reconstruction(networks.autoencoder, held_out, log) | held_out_walks(networks, held_out, log)
    return out | hits(networks.autoencoder, strikes, held_out, log)


def reconstruction(autoencoder: Autoencoder, held_out: HeldOut, log: Log) -> Figures:
    """Mean distance in cm of joints, around the root, between all clips of the held-out performers and what the
    manifold makes of them; every frame counts the same, the borders too."""
    entries = [e for e in load_library(held_out.data) if e.subject in held_out.subjects]
    means, inner, counts = [], [], []
    for entry in entries:
        frames = clip_frames(entry)
        frames = frames[: len(frames) // 2 * 2]
        if len(frames) <= 2 * _BORDER:
            continue
        error = joint_errors(autoencoder, frames)
        means.append(float(error.mean()))
        inner.append(float(error[_BORDER:-_BORDER].mean()))
        counts.append(len(frames))
    if not counts:
        raise UserError(
            f"{held_out.data} has no clip of the held-out performers, so that nothing can be reconstructed."
        )
    out = {
        "manifold.reconstruction.held_out.mean_cm": float(np.average(means, weights=counts)),
        "manifold.reconstruction.held_out.inner_mean_cm": float(np.average(inner, weights=counts)),
        "manifold.reconstruction.held_out.median_clip_cm": float(np.median(means)),
        "manifold.reconstruction.held_out.worst_clip_cm": max(means),
        "manifold.reconstruction.held_out.clips": float(len(counts)),
        "manifold.reconstruction.held_out.minutes": sum(counts) / FPS / 60,
    }
    tell(out, log)
    return out


def joint_errors(autoencoder: Autoencoder, frames: Array) -> Array:
    """Distances in cm (T, J) of joints around the root in frames (T, FRAME.size), T even, from their reconstruction."""
    made = autoencoder.decode(autoencoder.encode(frames))
    out: Array = 100 * np.linalg.norm(joint_places(made) - joint_places(frames), axis=-1)
    return out


def held_out_walks(networks: Networks, held_out: HeldOut, log: Log) -> Figures:
    """Synthesis along the trajectories of held-out locomotion clips.

    contact_agreement_percent: frames and feet in which contacts are those that the footstep network asked for:
    `.network` the contact channels of the synthesized frames, `.detected` contacts found in the poses of these
    frames as they are found in recordings, `.planted` the same after planting. speed_error_percent, over clips
    that move: `.network` of the root velocity that the network made, `.bias` the same with its sign; `.motion`
    of the finished motion.
    """
    found = walks(locomotion_clips(held_out.data, held_out.subjects, held_out=True), (False,))
    rows = [_along(networks, w) for w in found if len(w.frames) >= _SHORTEST_WALK]
    if not rows:
        raise UserError(f"{held_out.data} has no locomotion clip of the held-out performers to walk along.")
    table = np.array(rows)
    weights, moving = table[:, 0], table[:, 1] > STAND_SPEED
    out = {"manifold.walk.clips": float(len(rows)), "manifold.walk.minutes": float(weights.sum() / FPS / 60)}
    for column, name in enumerate(("network", "detected", "planted"), 2):
        out[f"manifold.walk.contact_agreement_percent.{name}"] = 100 * float(
            np.average(table[:, column], weights=weights)
        )
    if moving.any():
        off, own = table[moving, 5], table[moving, 6]
        for name, values in (("network", np.abs(off)), ("bias", off), ("motion", np.abs(own))):
            out[f"manifold.walk.speed_error_percent.{name}"] = 100 * float(np.average(values, weights=weights[moving]))
    tell(out, log)
    return out


def _along(networks: Networks, recorded: Walk) -> tuple[float, ...]:
    """One clip: frames, m/s, three shares of agreement, relative errors of the speed of the network and the motion."""
    count = len(recorded.frames)
    trajectory = recorded.trajectory(CURVE_SMOOTHING)
    track = gaussian(recorded.root[:, [0, 1, 3]], CURVE_SMOOTHING * FPS)
    course = Course(track, trajectory, np.linalg.norm(trajectory[:, :2], axis=1))
    steps = footsteps(networks, [course], [Options()])
    inputs = steps.inputs()
    made = synthesize(networks, inputs)
    frames = made[0, REACH_FRAMES : REACH_FRAMES + count]
    margin = (steps.contacts.shape[1] - inputs.shape[1]) // 2 + REACH_FRAMES
    asked = steps.contacts[:, margin : margin + count]
    planted, _, root_after = pose(track[None], inputs[..., :3], made, asked, np.ones(1))
    wanted = asked[0] > 0
    agreement = (
        np.mean((contacts_of(frames) > 0) == wanted),
        np.mean((contacts_of_walk(to_world_positions(frames, root_after[0])) > 0) == wanted),
        np.mean((contacts_of_walk(planted[0]) > 0) == wanted),
    )
    speed = _speed(trajectory[:, :2])
    drawn, walked = (_speed(np.diff(way[:, :2], axis=0) * FPS) for way in (track, root_after[0]))
    errors = _speed(frames[:, FRAME.root_velocity]) / max(speed, 1e-6) - 1, walked / max(drawn, 1e-6) - 1
    return float(count), speed, *map(float, agreement), *errors


def _speed(velocity: Array) -> float:
    """Mean speed of velocities (T, 2), without the sway of the steps."""
    smooth = gaussian(np.asarray(velocity, dtype=np.float64), SWAY_SMOOTHING * FPS)
    return float(np.linalg.norm(smooth, axis=1).mean())


def hits(autoencoder: Autoencoder, network: EndEffectors, held_out: HeldOut, log: Log) -> Figures:
    """Distance in cm of fist or ball of the foot from the targets of held-out punches and kicks at their times.

    The character stands where the performer stood, and faces as the performer did; `turned`: as the strike is hit
    best instead. `before`: of the best of the networks' tries, as a rig shows it, with rigid bones and planted feet.
    `after`: of the finished motion; its last correction bends the limb to the target, so that what it costs is told
    as well: acceleration_ratio is the striking joint's greatest acceleration against that of the recording.
    """
    found = fights(strike_clips(held_out.data, held_out.subjects, held_out=True), (False,))
    out: Figures = {}
    for kind, ending in (("punch", "Hand"), ("kick", "Toe")):
        strikes = [
            (fight, strike)
            for fight in found
            for strike in fight.strikes
            if EFFECTORS[strike.effector].endswith(ending)
        ]
        near = [pair for pair in strikes if _within_reach(*pair)]
        name = f"manifold.hit_error_cm.{kind}"
        out[f"{name}.count"] = float(len(near))
        out[f"{name}.out_of_reach"] = float(len(strikes) - len(near))
        for row, turned in ((name, False), (f"{name}.turned", True)):
            table = np.array([_hit(autoencoder, network, fight, strike, turned) for fight, strike in near])
            out |= _hit_figures(row, table) if len(table) else {}
    tell(out, log)
    return out


def _hit_figures(name: str, table: Array) -> Figures:
    """Median and worst of rows of `_hit`."""
    columns = {"before": 100 * table[:, 0], "after": 100 * table[:, 1], "acceleration_ratio": table[:, 2]}
    out: Figures = {}
    for column, values in columns.items():
        out[f"{name}.{column}_median"] = float(np.median(values))
        out[f"{name}.{column}_worst"] = float(values.max())
    return out


def _within_reach(fight: Fight, strike: Strike) -> bool:
    """The recorded target is not farther from the performer before the strike than a strike may be."""
    place = fight.positions[strike.frame, MODEL_SKELETON.index(EFFECTORS[strike.effector])]
    return bool(np.linalg.norm(place[:2] - _stance(fight, strike)[:2]) <= FARTHEST)


def _stance(fight: Fight, strike: Strike) -> Array:
    """Root (4,) before a strike."""
    out: Array = fight.root[max(strike.frame - STRIKE_FRAMES, 0)]
    return out


def _hit(
    autoencoder: Autoencoder, network: EndEffectors, fight: Fight, strike: Strike, turned: bool
) -> tuple[float, float, float]:
    """Errors in meters before and after, and the ratio of accelerations."""
    joint = MODEL_SKELETON.index(EFFECTORS[strike.effector])
    root = _stance(fight, strike)
    place = fight.positions[strike.frame, joint]
    x, y, z = place.tolist()
    start = (float(root[0]), float(root[1]), 0.0)
    hit = 3 * STRIKE_FRAMES // 2
    target = Target(EFFECTORS[strike.effector], (x, y, z), hit / FPS)
    facing = None if turned else float(root[3])
    shot = StrikeShot(fight.name, FPS, 2 * hit + 1, [target], start, facing)
    synthesis = StrikeSynthesis(shot, autoencoder, network)
    made = synthesis.motion().positions[:, joint].astype(np.float64)
    recorded = _peak(fight.positions[:, joint], strike.frame)
    return (
        float(synthesis.hit_errors()[0][0]),
        float(np.linalg.norm(made[hit] - place)),
        _peak(made, hit) / max(recorded, 1e-6),
    )


def _peak(places: Array, hit: int) -> float:
    """Greatest acceleration of places (T, 3) around a hit, in m per frame^2, without the recording's noise."""
    near = gaussian(places[max(hit - STRIKE_FRAMES, 0) : hit + STRIKE_FRAMES + 1].astype(np.float64), 1.0)
    return float(np.linalg.norm(np.diff(near, 2, axis=0), axis=1).max(initial=0.0))
