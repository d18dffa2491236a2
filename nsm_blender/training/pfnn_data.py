# SPDX-License-Identifier: GPL-3.0-or-later
"""From clips to the PFNN's training set: features, labels, augmentation, balance (PFNN 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from ..errors import FileFormatError
from ..models.layout import Layout
from ..models.pfnn import CURRENT, FPS, INPUT, JOINT_INPUT_SCALE, OUTPUT, SAMPLE_FRAMES, SAMPLES
from ..motion.clip import Clip
from ..motion.clip_file import load_clip, load_library
from ..motion.feet import level_feet, level_floor
from ..motion.filters import velocity
from ..motion.gait import GAITS, gait_weights
from ..motion.labels import Labels, label
from ..motion.mirror import mirror_clip
from ..motion.retarget import to_model_skeleton
from ..motion.root import direction, to_local
from ..motion.rotations import Array, conjugate, from_yaw, multiply, normalize, rotate, to_exponential_map

LOCOMOTION_TAGS = frozenset(
    {"walk", "run", "idle", "turn", "turn_in_place", "sidestep", "backward", "start_stop", "crouch"}
)
"""Tags of the clips that are trained on."""
UNWANTED_TAGS = frozenset(
    {
        "jump",
        "step_up",
        "step_down",
        "climb",
        "stairs",
        "sit",
        "box",
        "carry",
        "dance",
        "lie",
        "crawl",
        "kick",
        "punch",
        "martial",
        "sport",
        "exercise",
        "uneven",
        "slope",
        "step_over",
    }
)
"""Tags of clips that are left out whatever else they show."""
WINDOW = CURRENT * SAMPLE_FRAMES + 1
"""Frames of the trajectory before and after a frame that is trained on."""
_AT_END, _STILL = 0.1, 0.3
"""Seconds at the end of a clip in which its performer stands when the fastest joint moves by less than so many m/s."""
HELD_OUT_SHARE = 0.08
"""Share at the end of each clip that is kept for the validation loss, since one performer gives most of the clips."""


@dataclass(frozen=True, eq=False)
class Features:
    """Frames of training data.

    x: (N, INPUT.size) and y: (N, OUTPUT.size) in physical units; y.joint_rotation is zero until
    `set_rotations`. rotations: (N, J, 4) in the root frame. phase: (N,) radians. kind: (N,) index into KINDS.
    """

    x: Array
    y: Array
    rotations: Array
    phase: Array
    kind: Array

    @staticmethod
    def concatenate(parts: Sequence[Features]) -> Features:
        """All parts behind each other."""
        return Features(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Features)))

    def part(self, frames: slice) -> Features:
        """Some of the frames."""
        return Features(*(getattr(self, f.name)[frames] for f in fields(Features)))


@dataclass(frozen=True, eq=False)
class PreparedClip:
    """A labeled clip on the model skeleton at 60 fps, with its world transforms."""

    clip: Clip
    positions: Array
    rotations: Array
    labels: Labels


KINDS = (
    "stand",
    "turn on the spot",
    "walk",
    "walk turning",
    "side",
    "backward",
    "jog",
    "jog turning",
    "jog side",
    "jog backward",
    "start or stop",
    "crouch",
    "jump",
    "uneven ground",
    "other",
)
"""Kinds of frames, by which the training set is balanced."""


def choose_clips(data: Path, subjects: Sequence[str] = ()) -> list[str]:
    """Names of the locomotion clips in a data folder, of the given subjects or of all but doubtful ones."""
    names = []
    for entry in load_library(data):
        tags = set(entry.tags)
        if not tags & LOCOMOTION_TAGS or tags & UNWANTED_TAGS or any(t.startswith("style:") for t in tags):
            continue
        if subjects and entry.subject not in subjects:
            continue
        names.append(str(entry.name))
    if not names:
        raise FileFormatError(f"{data}: index.json lists no locomotion clip of subject {', '.join(subjects) or 'any'}")
    return names


def prepare(clip: Clip) -> PreparedClip:
    """Bring a clip to 60 fps, the model skeleton and a level floor, and label it."""
    model = level_feet(level_floor(to_model_skeleton(clip.resampled(FPS))))
    positions, rotations = model.world()
    return PreparedClip(model, positions, rotations, label(model))


def held_at_ends(clip: Clip) -> Clip:
    """A clip whose performer stands at its beginning or end is held there for as long as a trajectory window reaches,
    so that its first and last frames have a whole one, as crouching for a jump does."""
    positions, _ = clip.world()
    near = max(round(_AT_END * clip.fps), 2)
    frames = math.ceil(WINDOW / FPS * clip.fps)
    before, after = (
        frames if np.linalg.norm(np.diff(part, axis=0), axis=-1).mean(axis=0).max() * clip.fps < _STILL else 0
        for part in (positions[:near], positions[-near:])
    )
    which = np.clip(np.arange(-before, len(clip) + after), 0, len(clip) - 1)
    return replace(clip, root=clip.root[which], rotations=clip.rotations[which])


def augmented(clip: Clip, warps: Sequence[float]) -> list[Clip]:
    """The clip and its mirror image, each also played at the speeds `warps`."""
    played = [clip, *(clip.time_warped(w) for w in warps)]
    return played + [mirror_clip(c) for c in played]


def whole_frames(count: int) -> Array:
    """Frames of a clip of `count` that have a whole trajectory window."""
    return np.arange(WINDOW, count - WINDOW)


def extract(prepared: PreparedClip, jumps: bool = False) -> Features:
    """Input and output vectors of every frame that has a whole trajectory window (4.3).

    jumps: whether a jump is a gait of its own. Without, the clips have none: what is labeled so is a long flight in a
    run.
    """
    root, labels = prepared.labels.root, prepared.labels
    count = len(root)
    frames = whole_frames(count)
    if not len(frames):
        return Features(
            np.empty((0, INPUT.size), np.float32),
            np.empty((0, OUTPUT.size), np.float32),
            np.empty((0, *OUTPUT.shape("joint_rotation")[:1], 4), np.float32),
            np.empty(0),
            np.empty(0, int),
        )
    positions, rotations = _root_local(prepared)
    velocities = _local_velocities(prepared)
    jumping = (labels.gait == GAITS.index("jump")) & (not jumps)
    gait = gait_weights(np.where(jumping, GAITS.index("jog"), labels.gait), FPS)
    window = (np.arange(SAMPLES) - CURRENT) * SAMPLE_FRAMES

    x = np.zeros((len(frames), INPUT.size), dtype=np.float32)
    x[:, INPUT.trajectory_position], x[:, INPUT.trajectory_direction] = _trajectory(root, frames, window)
    x[:, INPUT.gait] = gait[frames[:, None] + window].reshape(len(frames), -1)
    x[:, INPUT.joint_position] = positions[frames - 1].reshape(len(frames), -1)
    x[:, INPUT.joint_velocity] = velocities[frames - 1].reshape(len(frames), -1)

    y = np.zeros((len(frames), OUTPUT.size), dtype=np.float32)
    y[:, OUTPUT.trajectory_position], y[:, OUTPUT.trajectory_direction] = _trajectory(
        root, frames + 1, window[CURRENT:]
    )
    y[:, OUTPUT.joint_position] = positions[frames].reshape(len(frames), -1)
    y[:, OUTPUT.joint_velocity] = velocities[frames].reshape(len(frames), -1)
    y[:, OUTPUT.root_velocity] = to_local(root[frames + 1, :2] - root[frames, :2], root[frames, 3]) * FPS
    y[:, OUTPUT.root_turn] = (root[frames + 1, 3] - root[frames, 3])[:, None] * FPS
    y[:, OUTPUT.phase_change] = (labels.phase[frames + 1] - labels.phase[frames])[:, None] * FPS
    y[:, OUTPUT.contact] = labels.contacts[frames]
    kind = classify(prepared)[frames]
    return Features(x, y, rotations[frames].astype(np.float32), labels.phase[frames] % (2 * np.pi), kind)


def _trajectory(root: Array, frames: Array, window: Array) -> tuple[Array, Array]:
    """Positions and directions (N, 2 t) of the trajectory at frames + window, in the root frame of `frames`."""
    around = root[frames[:, None] + window]
    angle = root[frames, 3][:, None]
    position = to_local(around[..., :2] - root[frames, None, :2], angle)
    return position.reshape(len(frames), -1), direction(around[..., 3] - angle).reshape(len(frames), -1)


def _root_local(prepared: PreparedClip) -> tuple[Array, Array]:
    """Joint positions (T, J, 3) and rotations (T, J, 4) in the root frame of their frame."""
    root = prepared.labels.root
    back = from_yaw(-root[:, 3])[:, None]
    origin = np.concatenate((root[:, :2], np.zeros((len(root), 1))), axis=1)
    shape = prepared.positions.shape[:2]
    positions = rotate(np.broadcast_to(back, (*shape, 4)), prepared.positions - origin[:, None])
    return positions, multiply(np.broadcast_to(back, (*shape, 4)), prepared.rotations)


def _local_velocities(prepared: PreparedClip) -> Array:
    """World joint velocities in m/s, turned into the root frame (T, J, 3)."""
    back = from_yaw(-prepared.labels.root[:, 3])[:, None]
    v = velocity(prepared.positions, FPS)
    return rotate(np.broadcast_to(back, (*v.shape[:2], 4)), v)


def classify(prepared: PreparedClip) -> Array:
    """Index into KINDS (T,), by which the training set is balanced."""
    root, gait = prepared.labels.root, prepared.labels.gait
    half = 15
    ahead = np.minimum(np.arange(len(root)) + half, len(root) - 1)
    behind = np.maximum(np.arange(len(root)) - half, 0)
    span = ((ahead - behind) / FPS)[:, None]
    v = to_local((root[ahead, :2] - root[behind, :2]) / span, root[:, 3])
    speed = np.linalg.norm(v, axis=1)
    turn = np.abs(root[ahead, 3] - root[behind, 3]) / span[:, 0]
    toward = np.degrees(np.arctan2(np.abs(v[:, 0]), -v[:, 1]))
    change = np.abs(
        np.linalg.norm(root[ahead, :2] - root[:, :2], axis=1) - np.linalg.norm(root[:, :2] - root[behind, :2], axis=1)
    )
    jog = gait == GAITS.index("jog")
    kind = np.full(len(root), KINDS.index("other"))
    moving = speed > 0.4

    def assign(mask: Array, name: str) -> None:
        kind[mask] = KINDS.index(name)

    assign(gait == GAITS.index("walk"), "walk")
    assign((gait == GAITS.index("walk")) & (turn > 0.7), "walk turning")
    assign(jog, "jog")
    assign(jog & (turn > 0.9), "jog turning")
    for base, side, back in ((gait == GAITS.index("walk"), "side", "backward"), (jog, "jog side", "jog backward")):
        assign(base & moving & (toward > 40), side)
        assign(base & moving & (toward > 125), back)
    assign((speed < 0.35) & (turn > 0.5) & (gait != GAITS.index("stand")), "turn on the spot")
    assign(
        (change > 0.25 * half / FPS) & (speed < 1.2) & (speed > 0.2) & (kind == KINDS.index("walk")), "start or stop"
    )
    assign(gait == GAITS.index("stand"), "stand")
    assign(gait == GAITS.index("crouch"), "crouch")
    return kind


def mean_rotations(local_rotations: Array) -> Array:
    """The mean rotation (J, 4) of each joint over frames (N, J, 4): the eigenvector of the outer products."""
    outer = np.einsum("nja,njb->jab", local_rotations, local_rotations, optimize=True)
    return np.linalg.eigh(outer)[1][:, :, -1].astype(np.float32)


def set_rotations(features: Features, reference: Array) -> None:
    """Write the exponential maps relative to `reference` (J, 4) into the outputs of `features`."""
    turned = features.rotations
    relative = normalize(multiply(np.broadcast_to(conjugate(reference), turned.shape), turned))
    features.y[:, OUTPUT.joint_rotation] = to_exponential_map(relative).reshape(len(relative), -1)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Everything that training needs, in physical units: normalized is (value - mean) / scale.

    rotation_reference: (J, 4). minutes: of recorded (not augmented) frames per kind.
    """

    train: Features
    held_out: Features
    rotation_reference: Array
    x_mean: Array
    x_scale: Array
    y_mean: Array
    y_scale: Array
    minutes: dict[str, float]
    clips: list[str]


def build(
    data: Path, subjects: Sequence[str] = (), warps: Sequence[float] = (), earlier: Mapping[str, Array] | None = None
) -> DataSet:
    """Read, label, augment and normalize the locomotion clips of a data folder; earlier: see `normalizing`."""
    train, held_out = [], []
    minutes = dict.fromkeys(KINDS, 0.0)
    names = choose_clips(data, subjects)
    for name in names:
        clip = load_clip(data / "clips" / f"{name}.npz")
        cut = int(len(clip) * (1 - HELD_OUT_SHARE))
        for version in augmented(clip.cut(0, cut), warps):
            train.append(extract(prepare(version)))
        held_out.append(extract(prepare(clip.cut(cut, len(clip)))))
        recorded = extract(prepare(clip)).kind
        for i, kind in enumerate(KINDS):
            minutes[kind] += float((recorded == i).sum() / FPS / 60)
    t, h = Features.concatenate(train), Features.concatenate(held_out)
    if not len(h.x):
        raise FileFormatError(
            f"{data}: its clips are too short: the last {HELD_OUT_SHARE:.0%} of none, which are held out, hold two "
            "seconds; add clips of half a minute."
        )
    return normalizing(t, h, INPUT, minutes, names, earlier)


def normalizing(
    t: Features,
    h: Features,
    layout: Layout,
    minutes: dict[str, float],
    names: list[str],
    earlier: Mapping[str, Array] | None = None,
    usual: Mapping[str, Array] | None = None,
) -> DataSet:
    """The data set of frames to train on and held-out ones, with inputs of `layout`, and its normalization.

    earlier: tensors of the weights file that training goes on from, whose normalization is kept for all that its
    network has learned from. usual: inputs of `layout` by name that count as zero in place of their mean.
    """
    if earlier is None:
        reference = mean_rotations(t.rotations[:: max(len(t.x) // 50000, 1)])
    else:
        reference = earlier["rotation_reference"]
    set_rotations(t, reference)
    set_rotations(h, reference)
    x_mean, x_scale = t.x.mean(0), _scale(t.x, layout)
    y_mean, y_scale = t.y.mean(0), _scale(t.y, OUTPUT)
    for name, value in (usual or {}).items():
        x_mean[getattr(layout, name)] = value
    x_scale[INPUT.joint_position] /= JOINT_INPUT_SCALE
    x_scale[INPUT.joint_velocity] /= JOINT_INPUT_SCALE
    if earlier is not None:
        y_mean, y_scale = earlier["y_mean"], earlier["y_scale"]
        learned = np.flatnonzero(np.any(earlier["w0"] != 0, axis=(0, 1)))
        x_mean[learned], x_scale[learned] = earlier["x_mean"][learned], earlier["x_scale"][learned]
    return DataSet(t, h, reference, x_mean, x_scale, y_mean, y_scale, minutes, names)


def _scale(values: Array, layout: Layout) -> Array:
    """One standard deviation for all dimensions of a piece, so that small dimensions carry no noise.

    Pieces without variation (terrain heights on flat ground) get 1.
    """
    std = values.std(0)
    out = np.ones_like(std)
    for name in layout.shapes:
        s = getattr(layout, name)
        out[s] = max(float(std[s].mean()), 0.0) or 1.0
    return out


def balance(kind: Array, largest_factor: float = 4.0) -> Array:
    """Sampling weight (N,) of each frame: rarer kinds are drawn more often, by the root of their rarity."""
    counts = np.bincount(kind, minlength=len(KINDS)).astype(float)
    factor = np.sqrt(counts.max() / np.maximum(counts, 1))
    factor = np.clip(factor, 1, largest_factor)
    factor[KINDS.index("other")] = 1
    weights: Array = factor[kind]
    return weights
