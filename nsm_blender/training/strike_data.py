# SPDX-License-Identifier: GPL-3.0-or-later
"""Training data of end-effector control: punches and kicks found in clips, and the paths of their hands and feet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..manifold.frames import around_root, to_frames
from ..models.manifold import FPS
from ..models.synthesis import EFFECTORS, REACH, STRIKE_FRAMES, nearest_strike, strike_inputs
from ..motion.clip_file import LibraryEntry, load_library
from ..motion.easing import smoothstep
from ..motion.filters import gaussian, velocity
from ..motion.mirror import mirror_vectors
from ..motion.root import root_track, to_local
from ..motion.rotations import Array, normalize
from ..motion.skeleton import MODEL_SKELETON
from .autoencoder import MAX_TURN
from .synthesis import Example
from .synthesis_data import contacts_of_walk, on_ground, positions_of

STRIKE_TAGS = {"punch": "Hand", "kick": "Toe"}
"""Tags of the clips, and the joint that strikes in each."""
_FASTEST = {"Hand": 3.0, "Toe": 4.5}
"""Speed in m/s around the root that a strike of each joint reaches."""
_KICK_HEIGHT = 0.3
"""Meters above the floor from which a foot kicks and does not step."""
_END = 0.4
"""Share of its greatest speed to which a strike has slowed down when it hits."""
_APART = 0.4
"""Least seconds between two strikes."""
_JITTER = 0.1
"""Standard deviation in meters by which strikes are moved to other targets, for want of recorded ones."""
_JITTER_FRAMES = 9.0
"""Frames: standard deviation of the window around the hit in which the limb follows its moved target."""
_STEP = 0.15
"""Standard deviation in meters by which the whole body goes farther toward a moved target, in the ground plane."""
_STEP_FRAMES = (40, 4)
"""Frames before the hit between which that step is made."""


@dataclass(frozen=True)
class Strike:
    """A hit at `frame` by EFFECTORS[effector]."""

    frame: int
    effector: int


@dataclass(frozen=True, eq=False)
class Fight:
    """A clip with strikes at 60 fps: world places (T, J, 3), root (T, 4), contacts (T, 4), strikes in order."""

    name: str
    positions: Array
    root: Array
    contacts: Array
    strikes: tuple[Strike, ...]

    def frames(self) -> Array:
        """X (T, FRAME.size)."""
        return to_frames(self.positions, self.root, self.contacts).astype(np.float32)

    def path(self, strike: Strike) -> Array:
        """Places (T, 3) of the joint that strikes, around the root as it is STRIKE_FRAMES before the hit."""
        before = self.root[max(strike.frame - STRIKE_FRAMES, 0)]
        place = self.positions[:, EFFECTOR_JOINTS[strike.effector]]
        out: Array = np.concatenate((to_local(place[:, :2] - before[:2], before[3]), place[:, 2:]), axis=1)
        return out

    def inputs(self) -> Array:
        """(T, REACH.size): the path of the hand or foot that strikes nearest in time."""
        frames = [strike.frame for strike in self.strikes]
        nearest, _ = nearest_strike(len(self.positions), frames)
        paths = np.stack([self.path(strike) for strike in self.strikes])
        path = paths[nearest, np.arange(len(self.positions))]
        return strike_inputs(path, frames, [strike.effector for strike in self.strikes])


EFFECTOR_JOINTS = MODEL_SKELETON.indices(EFFECTORS)


def strike_clips(data: Path, test_subjects: Sequence[str], held_out: bool = False) -> list[LibraryEntry]:
    """The punch and kick clips of a data folder, without the test subjects or (`held_out`) of them alone."""
    return [
        entry
        for entry in load_library(data)
        if _limbs(entry) and "sport" not in entry.tags and (entry.subject in test_subjects) == held_out
    ]


def fights(entries: Sequence[LibraryEntry], mirrored: Sequence[bool] = (False, True)) -> list[Fight]:
    """Each clip that has strikes, as it is and mirrored."""
    out = []
    for entry in entries:
        for flip in mirrored:
            positions = positions_of(entry, flip).astype(np.float64)
            contacts = contacts_of_walk(positions)
            positions = on_ground(positions, contacts)
            root = root_track(positions, FPS)
            if len(root) < 2 or np.abs(np.diff(root[:, 3])).max() * FPS > MAX_TURN:
                continue
            strikes = strikes_of(around_root(positions, root), _limbs(entry))
            if strikes:
                out.append(Fight(entry.name, positions, root, contacts, strikes))
    return out


def _limbs(entry: LibraryEntry) -> frozenset[str]:
    """What strikes in a clip: "Hand", "Toe"."""
    return frozenset(kind for tag, kind in STRIKE_TAGS.items() if tag in entry.tags)


def strikes_of(around: Array, kinds: Collection[str] = tuple(STRIKE_TAGS.values())) -> tuple[Strike, ...]:
    """Strikes of hands or feet (`kinds`) in joint places around the root (T, J, 3) at 60 fps, in order."""
    found: list[tuple[float, Strike]] = []
    for index, joint in enumerate(EFFECTOR_JOINTS):
        kind = "Hand" if EFFECTORS[index].endswith("Hand") else "Toe"
        if kind not in kinds:
            continue
        place = gaussian(around[:, joint], 0.02 * FPS)
        speed = np.linalg.norm(velocity(place, FPS), axis=-1)
        for peak in np.flatnonzero((speed[1:-1] >= speed[:-2]) & (speed[1:-1] > speed[2:])) + 1:
            after = speed[peak : peak + round(0.35 * FPS)]
            slow = np.flatnonzero(after < _END * speed[peak])
            if speed[peak] < _FASTEST[kind] or not len(slow):
                continue
            hit = int(peak + slow[0])
            inward = np.linalg.norm(place[hit, :2]) < np.linalg.norm(place[peak, :2])
            if inward or (kind == "Toe" and place[hit, 2] < _KICK_HEIGHT):
                continue
            found.append((speed[peak] / _FASTEST[kind], Strike(hit, index)))
    kept: list[Strike] = []
    for _, strike in sorted(found, key=lambda f: -f[0]):
        if all(abs(strike.frame - other.frame) > _APART * FPS for other in kept):
            kept.append(strike)
    return tuple(sorted(kept, key=lambda s: s.frame))


def moved(fight: Fight, rng: np.random.Generator) -> Fight:
    """The fight with its strikes at other places near by: the body steps somewhere else, the limb reaches there."""
    positions, root = fight.positions.copy(), fight.root.copy()
    time = np.arange(len(positions))
    for strike in fight.strikes:
        share = smoothstep((time - strike.frame + _STEP_FRAMES[0]) / (_STEP_FRAMES[0] - _STEP_FRAMES[1]))
        step = share[:, None] * rng.normal(0, _STEP, 2)
        root[:, :2] += step
        positions[..., :2] += step[:, None]
        name = EFFECTORS[strike.effector]
        side = "Left" if name.startswith("Left") else "Right"
        hand = name.endswith("Hand")
        chain = ("Arm", "ForeArm", "Hand") if hand else ("UpLeg", "Leg", "Foot")
        upper, middle, end = MODEL_SKELETON.indices([side + part for part in chain])
        bump = np.exp(-0.5 * ((time - strike.frame) / _JITTER_FRAMES) ** 2)
        near = np.flatnonzero(bump > 1e-3)
        shift = bump[near, None] * rng.normal(0, _JITTER, 3)
        before = positions[near, end].copy()
        _reach(positions, near, (upper, middle, end), before + shift)
        if not hand:
            positions[near, EFFECTOR_JOINTS[strike.effector]] += positions[near, end] - before
    return Fight(fight.name, positions, root, fight.contacts, fight.strikes)


def _reach(positions: Array, frames: Array, joints: tuple[int, int, int], target: Array) -> None:
    """Bend a limb of `positions` in place so that its end is at `target` (n, 3), or as near as it reaches."""
    upper, middle, end = (positions[frames, j] for j in joints)
    a, b = np.linalg.norm(middle - upper, axis=-1), np.linalg.norm(end - middle, axis=-1)
    line = target - upper
    distance = np.linalg.norm(line, axis=-1)
    reached = np.clip(distance, np.abs(a - b) + 0.02, (a + b) * 0.995)
    along = normalize(line)
    aside = middle - upper
    aside = normalize(aside - along * np.sum(aside * along, -1, keepdims=True))
    forward = (a * a - b * b + reached * reached) / (2 * reached)
    out = np.sqrt(np.maximum(a * a - forward * forward, 0))
    positions[frames, joints[1]] = upper + along * forward[:, None] + aside * out[:, None]
    positions[frames, joints[2]] = upper + along * reached[:, None]


def profiles_of(found: Sequence[Fight], ridge: float = 0.02) -> Array:
    """How hands (0) and feet (1) travel to a target: (2, 2 STRIKE_FRAMES + 1, 4, 3).

    The place of a left hand or foot around the root before it, t frames from the hit, is [1, target] times the
    matrix of t, by least squares over all strikes; right ones are mirrored. At the hit it is the target.
    """
    out = np.zeros((2, 2 * STRIKE_FRAMES + 1, 4, 3))
    for kind in range(2):
        targets, paths = [], []
        for fight in found:
            for strike in fight.strikes:
                if strike.effector // 2 != kind:
                    continue
                frames = np.arange(-STRIKE_FRAMES, STRIKE_FRAMES + 1) + strike.frame
                path = fight.path(strike)[np.clip(frames, 0, len(fight.positions) - 1)]
                path = path if strike.effector % 2 == 0 else mirror_vectors(path)
                paths.append(path)
                targets.append(path[STRIKE_FRAMES])
        if not paths:
            out[kind, :, 1:] = np.eye(3)
            continue
        known, y = np.array(targets), np.array(paths)
        mean = known.mean(0)
        x = known - mean
        slope = np.linalg.solve(x.T @ x + ridge * len(x) * np.eye(3), np.einsum("nk,ntj->ktj", x, y).reshape(3, -1))
        slope = slope.reshape(3, -1, 3)
        middle = y.mean(0)
        out[kind, :, 1:] = slope.transpose(1, 0, 2)
        out[kind, :, 0] = middle - np.einsum("k,ktj->tj", mean, slope)
        out[kind] = _exact(out[kind])
    return out.astype(np.float32)


def _exact(profile: Array) -> Array:
    """The profile (2 STRIKE_FRAMES + 1, 4, 3) with what the ridge leaves of the target at the hit made up for."""
    wanted = np.concatenate((np.zeros((1, 3)), np.eye(3)))
    bump = np.exp(-0.5 * (np.arange(-STRIKE_FRAMES, STRIKE_FRAMES + 1) / _JITTER_FRAMES) ** 2)
    out: Array = profile + bump[:, None, None] * (wanted - profile[STRIKE_FRAMES])
    return out


def strike_examples(found: Sequence[Fight], versions: int, seed: int) -> list[Example]:
    """Inputs (T, REACH.size) and frames (T, FRAME.size): each fight as it is, and with other targets."""
    rng = np.random.default_rng(seed)
    out = []
    for fight in found:
        for version in range(versions):
            made = moved(fight, rng) if version else fight
            out.append(Example([made.inputs()], made.frames()))
    return out


def end_effector_constants(found: Sequence[Fight]) -> dict[str, Array]:
    """What the weights file of end-effector control holds beside the network: `profile` and `target`."""
    targets: tuple[list[Array], list[Array]] = ([], [])
    for fight in found:
        for strike in fight.strikes:
            place = fight.path(strike)[strike.frame]
            targets[strike.effector // 2].append(place if strike.effector % 2 == 0 else mirror_vectors(place))
    for kind, name in enumerate(STRIKE_TAGS):
        if not targets[kind]:
            raise UserError(f"The data holds no {name} that could be found; end effectors need punches and kicks.")
    return {
        "profile": profiles_of(found),
        "target": np.array([np.mean(t, axis=0) for t in targets], dtype=np.float32),
    }


REACH_PIECES = (REACH.position, REACH.effector, REACH.strike)
