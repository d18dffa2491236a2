# SPDX-License-Identifier: GPL-3.0-or-later
"""Gait labels: the kind of locomotion of a frame, from speed, height of the hips and contacts."""

from __future__ import annotations

import numpy as np

from .filters import gaussian, runs, without_short_runs
from .phase import foot_strikes
from .rotations import Array
from .skeleton import HIPS_HEIGHT

GAITS = ("stand", "walk", "jog", "jump", "crouch")
"""The semantic variables of the trajectory, in the paper's order (PFNN 4.3)."""

STAND_SPEED = 0.15
"""Speed in m/s below which a frame without steps near is standing."""
JOG_SPEED = 2.3
"""Speed in m/s above which a frame is jogging even without a flight; people walk up to 2 m/s."""
CROUCH_HEIGHT = 0.90
"""Share of the straight-legged height of the hips below which a mean pose is a crouch."""
JUMP_FLIGHT = 0.28
"""Time in seconds in the air from which a flight is a jump; a run's flight is 0.15 s at most."""
_SHORTEST = 0.3
"""Shortest run in seconds of a gait."""
_SHORTEST_CROUCH = 2.0
"""Shortest crouch in seconds; braking and sharp turns lower the hips too, but not for long."""
_STEP_NEAR = 0.45
"""Time in seconds before a foot strike in which the character steps; a third of it counts after the strike."""
_LONGEST_START = 1.2
"""Longest walk in seconds, after standing or running, that is part of the run that follows."""


def gait_labels(positions: Array, contacts: Array, fps: float) -> Array:
    """Index into GAITS (T,) of each frame.

    positions: (T, J, 3) world on the model skeleton. contacts: (T, 4) from `foot_contacts`.
    """
    count = len(positions)
    # Smoothed after differencing: the held ends of a smoothed track would look like standing.
    steps = np.gradient(positions[:, 0, :2], axis=0) if count > 1 else np.zeros((count, 2))
    speed = np.linalg.norm(gaussian(steps, 0.15 * fps), axis=-1) * fps
    height = gaussian(positions[:, 0, 2], 0.35 * fps) / HIPS_HEIGHT
    stepping = np.zeros(count, dtype=bool)
    near = int(_STEP_NEAR * fps)
    for frame, _ in foot_strikes(contacts, fps):
        # A strike ends a step: most of the step lies before it.
        stepping[max(frame - near, 0) : frame + near // 3] = True

    flying = np.zeros(count, dtype=bool)
    jumping = np.zeros(count, dtype=bool)
    for a, b in runs(contacts.max(1) < 0.5):
        lift = positions[a:b, 0, 2].max() - min(positions[a, 0, 2], positions[b - 1, 0, 2])
        if (b - a) / fps > JUMP_FLIGHT and lift > 0.05:
            jumping[max(a - int(0.15 * fps), 0) : b + int(0.15 * fps)] = True
        elif b - a >= max(0.03 * fps, 2):
            flying[max(a - int(0.3 * fps), 0) : b + int(0.3 * fps)] = True

    out = np.full(count, GAITS.index("walk"))
    out[(speed < STAND_SPEED) & ~stepping] = GAITS.index("stand")
    out[(flying & (speed > 1.3)) | (speed > JOG_SPEED)] = GAITS.index("jog")
    low = without_short_runs(
        (height < CROUCH_HEIGHT) & (speed < JOG_SPEED), int(0.5 * fps), int(_SHORTEST_CROUCH * fps)
    )
    out[low] = GAITS.index("crouch")
    out[jumping] = GAITS.index("jump")
    return _whole_runs(_without_short(out, max(int(_SHORTEST * fps), 2)), int(_LONGEST_START * fps))


def _whole_runs(labels: Array, longest: int) -> Array:
    """Label the slow steps of a run, at its start or where it turns back, as the run.

    The performer ran throughout, and a user sets the gait before its speed is reached.
    """
    out = labels.copy()
    edges = np.concatenate(([0], np.flatnonzero(np.diff(out)) + 1, [len(out)]))
    kinds = [GAITS[out[a]] for a in edges[:-1]]
    for i in range(1, len(kinds) - 1):
        around = (kinds[i - 1], kinds[i], kinds[i + 1])
        if around in (("stand", "walk", "jog"), ("jog", "walk", "jog")) and edges[i + 1] - edges[i] <= longest:
            out[edges[i] : edges[i + 1]] = GAITS.index("jog")
    return out


def _without_short(labels: Array, shortest: int) -> Array:
    """Give runs shorter than `shortest` frames to the longer of their neighbors."""
    out = labels.copy()
    while True:
        edges = np.concatenate(([0], np.flatnonzero(np.diff(out)) + 1, [len(out)]))
        lengths = np.diff(edges)
        inner = [i for i in range(1, len(lengths) - 1) if lengths[i] < shortest]
        if not inner:
            return out
        i = min(inner, key=lambda k: lengths[k])
        source = edges[i - 1] if lengths[i - 1] >= lengths[i + 1] else edges[i + 1]
        out[edges[i] : edges[i + 1]] = out[source]


def gait_weights(labels: Array, fps: float, blend: float = 0.3) -> Array:
    """One-hot gait (T, 5) with transitions blended over about `blend` seconds, as when a user switches the gait."""
    one_hot = np.eye(len(GAITS), dtype=np.float32)[labels]
    return gaussian(one_hot, blend * fps / 3)
