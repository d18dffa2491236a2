# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN's training set of many performers on any ground: clips, contacts at all heights, fitted terrain (PFNN 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...geometry.ground import Ground
from ...models.pfnn import ASIDE, CHARACTER_INPUT, CURRENT, FPS, INPUT, LEVEL, OUTPUT, SAMPLE_FRAMES, SAMPLES
from ...motion.clip import Clip
from ...motion.clip_file import LibraryEntry, load_clip, load_library
from ...motion.contacts import SPEED_LIMIT
from ...motion.feet import level_feet
from ...motion.filters import gaussian, runs, velocity, without_short_runs
from ...motion.gait import GAITS, gait_labels
from ...motion.labels import Labels
from ...motion.phase import phase_track
from ...motion.proportions import proportions
from ...motion.retarget import to_model_skeleton
from ...motion.root import root_track
from ...motion.rotations import Array
from ...motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..pfnn_data import (
    KINDS,
    LOCOMOTION_TAGS,
    UNWANTED_TAGS,
    DataSet,
    Features,
    PreparedClip,
    augmented,
    extract,
    held_at_ends,
    normalizing,
    prepare,
    whole_frames,
)
from .fitting import BEST, MARGIN, Errors, Feet, Fit, fit_cycle, refine_recorded
from .patches import Library
from .recorded import recorded_ground

UNEVEN_TAGS = frozenset({"step_up", "step_down", "stairs", "slope", "uneven", "climb"})
"""Tags of clips in which feet stand at several heights."""
GROUND_TAGS = LOCOMOTION_TAGS | UNEVEN_TAGS | {"jump", "step_over", "duck"}
"""Tags of the clips that are trained on."""
OTHER_TAGS = (UNWANTED_TAGS - GROUND_TAGS) | frozenset(
    {"ladder", "sit_ledge", "push", "pull", "drag", "pickup", "putdown", "manipulate", "suitcase", "reach", "squat"}
    | {"skip"}
)
"""Tags of clips that are left out whatever else they show: what hands do is no locomotion, and of what is skipped and
what is run the gait tells nothing apart."""
LEVELED = "_level"
"""End of the name of a clip that replaces the one named without it, as its floor was found to be crooked."""
_STANDS = 0.1
"""Shortest contact in seconds where no floor tells how low a foot is: a foot that swings is slow for less."""
HANGING = 0.3
"""Meters of the fit of a recorded ground from which feet that are still do not stand on it: the performer sits on a box
or climbs with hands and knees."""
LEAST_GAIT = 5.0
"""Seconds for which a performer must show a gait to lend a character its manner in it."""
ON_THE_WAY = 0.3
"""Meters a second from which a performer is on the way somewhere."""
_GROUND_SMOOTHING = 0.25
"""Seconds of the filter on the height of the ground under a performer, about half a step."""
STORED = np.float16
"""Type in which the heights of all fits are kept: half a millimeter at one meter, at half the memory."""


@dataclass(frozen=True, eq=False)
class GroundFeatures:
    """Frames with the grounds that fit them.

    base: features above the recording's floor, with inputs as in CHARACTER_INPUT. heights: (N, BEST, 36) of the terrain
    inputs above datum (N, BEST), the height of the root, of each fit.
    """

    base: Features
    heights: Array
    datum: Array

    @staticmethod
    def concatenate(parts: Sequence[GroundFeatures]) -> GroundFeatures:
        """All parts behind each other."""
        return GroundFeatures(
            Features.concatenate([p.base for p in parts]),
            np.concatenate([p.heights for p in parts]),
            np.concatenate([p.datum for p in parts]),
        )

    def drawn(self, rng: np.random.Generator) -> Features:
        """The features on one of its grounds for each frame, at random."""
        number = rng.integers(0, self.heights.shape[1], len(self.heights))
        x, y = self.base.x.copy(), self.base.y.copy()
        lay_ground(x, y, *self.chosen(number))
        return replace(self.base, x=x, y=y)

    def chosen(self, number: Array) -> tuple[Array, Array]:
        """Terrain inputs (N, 36) and datum (N,) of the ground of each frame whose number (N,) is given."""
        rows = np.arange(len(number))
        return self.heights[rows, number].astype(np.float32), self.datum[rows, number].astype(np.float32)


HEIGHTS_IN = np.r_[INPUT.joint_position][2::3]
"""Inputs that are heights above the root."""
HEIGHTS_OUT = np.r_[OUTPUT.joint_position][2::3]
"""Outputs that are heights above the root."""


def lay_ground(x: Array, y: Array, heights: Array, datum: Array) -> None:
    """Put a ground under features x (N, n) and y (N, m) above the floor, in place."""
    x[:, INPUT.terrain_height] = heights
    x[:, HEIGHTS_IN] -= datum[:, None]
    y[:, HEIGHTS_OUT] -= datum[:, None]


def choose(
    data: Path,
    subjects: Sequence[str],
    held_out: Sequence[str],
    unsure: Sequence[str],
    left_out: Sequence[str] = (),
) -> list[LibraryEntry]:
    """Style-free locomotion of a data folder, of the given performers or of all but doubtful ones, without the clips
    `left_out`."""
    library = load_library(data)
    names = {entry.name for entry in library}
    found = []
    for entry in library:
        tags = set(entry.tags)
        climbs = "climb" in tags and "walk" not in tags
        if not tags & GROUND_TAGS or tags & OTHER_TAGS or climbs or any(t.startswith("style:") for t in tags):
            continue
        if entry.name + LEVELED in names or entry.name in left_out or entry.subject in unsure:
            continue
        if subjects and entry.subject not in subjects and entry.subject not in held_out:
            continue
        found.append(entry)
    if not any(entry.subject not in held_out for entry in found):
        raise FileFormatError(f"{data}: index.json lists no locomotion clip of subject {', '.join(subjects) or 'any'}")
    return found


def is_uneven(entry: LibraryEntry) -> bool:
    """Whether feet stand at several heights in a clip."""
    return bool(set(entry.tags) & UNEVEN_TAGS)


def prepare_uneven(clip: Clip) -> PreparedClip:
    """Bring a clip with feet at several heights to 60 fps and the model skeleton, and label it."""
    model = level_feet(to_model_skeleton(clip.resampled(FPS)))
    positions, rotations = model.world()
    contacts = contacts_at_any_height(positions)
    above = positions - ground_track(positions, contacts)[:, None, None] * np.array([0.0, 0.0, 1.0])
    gait = gait_labels(above, contacts, FPS)
    labels = Labels(root_track(positions, FPS), contacts, phase_track(contacts, FPS), gait, ())
    return PreparedClip(model, positions, rotations, labels)


def contacts_at_any_height(positions: Array) -> Array:
    """Contact labels (T, 4) of CONTACT_JOINTS of joints (T, J, 3) at 60 fps: what stands still stands on something."""
    out = np.zeros((len(positions), len(CONTACT_JOINTS)), dtype=np.float32)
    shortest = round(_STANDS * FPS)
    for column, name in enumerate(CONTACT_JOINTS):
        place = gaussian(positions[:, MODEL_SKELETON.index(name)], 0.01 * FPS)
        still = np.linalg.norm(velocity(place, FPS), axis=-1) < SPEED_LIMIT
        out[:, column] = without_short_runs(still, 2, shortest)
    return out


def ground_track(positions: Array, contacts: Array) -> Array:
    """Height (T,) in meters of the ground under a performer: that of the feet which stand, smooth in between."""
    feet = Feet.of(positions, contacts, np.zeros(len(positions), bool), np.zeros(len(positions)))
    times, heights = [], []
    for joint in range(contacts.shape[1]):
        for a, b in runs(feet.contacts[:, joint]):
            times.append(0.5 * (a + b))
            heights.append(float(feet.places[a:b, joint, 2].mean()))
    if not times:
        return np.zeros(len(positions))
    order = np.argsort(times)
    track = np.interp(np.arange(len(positions)), np.array(times)[order], np.array(heights)[order])
    return gaussian(track, _GROUND_SMOOTHING * FPS)


def under_trajectory(root: Array) -> Array:
    """Places (T, 3, 2) on the ground under a root (T, 4): ASIDE to its right, below it, and to its left."""
    left = np.stack((np.cos(root[:, 3]), np.sin(root[:, 3])), axis=1)
    return np.asarray(root[:, None, :2] + np.array([-ASIDE, 0.0, ASIDE])[:, None] * left[:, None])


def with_ground(
    prepared: PreparedClip,
    character: Array,
    library: Library,
    jumps: bool = False,
    recorded: Ground | None = None,
    uneven: bool = False,
) -> tuple[GroundFeatures, list[Errors]]:
    """Features of a clip with fitted ground, and the errors of all fits of its cycles.

    jumps: whether the clip shows any; a long flight in a run is none. recorded: its own ground, which is taken in place
    of patches; cycles in which feet hang above it are left out. uneven: whether feet stand at several heights, which is
    a kind of its own.
    """
    base = extract(prepared, jumps=jumps)
    value = np.broadcast_to(character, (len(base.x), len(character)))
    labels = prepared.labels
    jumping = (labels.gait == GAITS.index("jump")) & jumps
    feet = Feet.of(prepared.positions, labels.contacts, jumping, labels.phase)
    frames = whole_frames(len(labels.root))
    kind = np.full(len(frames), KINDS.index("uneven ground")) if uneven else base.kind
    kind = np.where(jumping[frames], KINDS.index("jump"), kind)
    base = replace(base, x=np.concatenate((base.x, value), axis=1), kind=kind)
    heights = np.zeros((len(frames), BEST, SAMPLES * 3), dtype=STORED)
    datum = np.zeros((len(frames), BEST), dtype=np.float32)
    places = under_trajectory(labels.root)
    kept = np.ones(len(frames), dtype=bool)
    errors: list[Errors] = []
    for start, stop in feet.cycles():
        inside = np.flatnonzero((frames >= start) & (frames < stop))
        if not len(inside):
            continue
        if recorded is None:
            for number, (fit, error) in enumerate(fit_cycle(feet, start, stop, library)):
                errors.append(error)
                heights[inside, number], datum[inside, number] = _felt(fit, places, frames[inside])
        else:
            fit, error = refine_recorded(feet, start, stop, recorded.height)
            if error.fit > HANGING:
                kept[inside] = False
                continue
            errors.append(error)
            felt, height = _felt(fit, places, frames[inside])
            heights[inside], datum[inside] = felt[:, None], height[:, None]
    rows = {f.name: getattr(base, f.name)[kept] for f in fields(Features)}
    return GroundFeatures(Features(**rows), heights[kept], datum[kept]), errors


def _felt(fit: Fit, places: Array, frames: Array) -> tuple[Array, Array]:
    """Terrain inputs (F, 36) and datum (F,) of frames on a fitted ground; places: (T, 3, 2) under the trajectory."""
    first, last = max(frames[0] - MARGIN, 0), frames[-1] + MARGIN
    ground = fit.heights(places[first:last])
    window = (np.arange(SAMPLES) - CURRENT) * SAMPLE_FRAMES
    felt = ground[frames[:, None] - first + window]
    datum = felt[:, LEVEL, 1].mean(axis=1)
    return (felt - datum[:, None, None]).reshape(len(frames), -1), datum


@dataclass(frozen=True, eq=False)
class GroundSet:
    """A data set whose ground is drawn anew each epoch, and how well the grounds fit.

    data: with one draw of grounds. grounds: those of data.train. errors: of all fits of the recorded (not augmented)
    clips, of even and of uneven ones. held_out: performers. performer: the one with most frames, like whom a character
    moves that is told no other. performers: character value (7,) of those trained on, by name: the mean over their
    clips, as some sources scale the same bones a little differently from clip to clip. gaits: those in which each of
    them is shown for LEAST_GAIT.
    """

    data: DataSet
    grounds: GroundFeatures
    errors: dict[str, dict[str, float]]
    held_out: list[str]
    performer: str
    performers: dict[str, list[float]]
    gaits: dict[str, list[str]]


def build(
    data: Path,
    subjects: Sequence[str],
    held_out: Sequence[str],
    unsure: Sequence[str],
    warps: Sequence[float],
    patches: int,
    seed: int,
    left_out: Sequence[str] = (),
    earlier: Mapping[str, Array] | None = None,
    log: Callable[[str], None] = print,
) -> GroundSet:
    """Read, label, augment, fit and normalize the locomotion of a data folder.

    held_out: performers. left_out: clips. earlier: see `normalizing`.
    """
    library = Library(patches, seed)
    rng = np.random.default_rng(seed)
    parts: dict[bool, list[GroundFeatures]] = {False: [], True: []}
    errors: dict[str, list[Errors]] = {"even": [], "uneven": []}
    minutes = dict.fromkeys(KINDS, 0.0)
    values: dict[str, list[Array]] = {}
    frames = Counter[str]()
    shown: dict[str, Array] = {}
    entries = choose(data, subjects, held_out, unsure, left_out)
    for count, entry in enumerate(entries, 1):
        clip = load_clip(entry.path)
        held = entry.subject in held_out
        character = proportions(clip.skeleton)
        if not held:
            values.setdefault(entry.subject, []).append(character)
        for number, version in enumerate([clip] if held else augmented(clip, warps)):
            features, found = _grounded(entry, version, character, library)
            if len(features.base.x):
                parts[held].append(features)
            if number == 0:
                errors["uneven" if is_uneven(entry) else "even"] += found
                if not held:
                    frames[entry.subject] += len(features.base.x)
                    shown[entry.subject] = shown.get(entry.subject, 0) + seconds_by_gait(features.base.x)
                    for i, kind in enumerate(KINDS):
                        minutes[kind] += float((features.base.kind == i).sum() / FPS / 60)
        if count % 20 == 0 or count == len(entries):
            log(f"{count} of {len(entries)} clips")
    if not parts[False] or not parts[True]:
        raise FileFormatError(
            f"{data}: no clip of {'held-out' if parts[False] else 'other than held-out'} performers is longer than two "
            "seconds; give other performers with --subjects or --test-subjects."
        )
    grounds, held_grounds = (GroundFeatures.concatenate(parts[held]) for held in (False, True))
    trained = [entry.name for entry in entries if entry.subject not in held_out]
    most = max((name for name in values if name), key=frames.__getitem__, default="")
    usual = {"character": np.mean(values[most], axis=0)} if most in values else {}
    drawn = normalizing(grounds.drawn(rng), held_grounds.drawn(rng), CHARACTER_INPUT, minutes, trained, earlier, usual)
    # The rotations of the drawn features are written in place, those of the base in the same way.
    grounds.base.y[:, OUTPUT.joint_rotation] = drawn.train.y[:, OUTPUT.joint_rotation]
    figures = {name: summary(found) for name, found in errors.items() if found}
    performers = {name: [round(float(v), 4) for v in np.mean(own, axis=0)] for name, own in values.items() if name}
    gaits = {name: [gait for gait, s in zip(GAITS, shown[name], strict=True) if s >= LEAST_GAIT] for name in performers}
    held_names = sorted({entry.subject for entry in entries if entry.subject in held_out})
    return GroundSet(drawn, grounds, figures, held_names, most, performers, gaits)


def seconds_by_gait(x: Array) -> Array:
    """Seconds (5,) for which inputs x (N, n) of consecutive frames show each of GAITS, and but for standing, on the
    way: crouching over a box does not show how to go crouched."""
    gaits = x[:, INPUT.gait].reshape(len(x), SAMPLES, len(GAITS))[:, CURRENT]
    way = x[:, INPUT.trajectory_position].reshape(len(x), SAMPLES, 2)
    goes = np.linalg.norm(way[:, CURRENT + 1] - way[:, CURRENT], axis=1) > ON_THE_WAY * SAMPLE_FRAMES / FPS
    stands = np.arange(len(GAITS)) == GAITS.index("stand")
    seconds: Array = (gaits * (goes[:, None] | stands)).sum(axis=0) / FPS
    return seconds


def fit_errors(data: Path, patches: int, seed: int) -> dict[str, dict[str, float]]:
    """Errors of the grounds that are fitted to all locomotion clips of a folder, see `summary`, on even and uneven
    ground."""
    library = Library(patches, seed)
    found: dict[str, list[Errors]] = {"even": [], "uneven": []}
    for entry in choose(data, (), (), ()):
        clip = load_clip(entry.path)
        _, errors = _grounded(entry, clip, proportions(clip.skeleton), library)
        found["uneven" if is_uneven(entry) else "even"] += errors
    return {name: summary(errors) for name, errors in found.items() if errors}


def _grounded(
    entry: LibraryEntry, clip: Clip, character: Array, library: Library
) -> tuple[GroundFeatures, list[Errors]]:
    """`with_ground` of a clip, or a version of it, as its tags have it."""
    clip = held_at_ends(clip)
    prepared = prepare_uneven(clip) if is_uneven(entry) else prepare(clip)
    recorded = recorded_ground(entry.path, clip.skeleton, bool(clip.meta.get("mirrored", False)))
    return with_ground(prepared, character, library, "jump" in entry.tags, recorded, is_uneven(entry))


def summary(errors: Sequence[Errors]) -> dict[str, float]:
    """Fit errors in centimeters: medians and 95th percentiles over the fits."""
    out = {"fits": float(len(errors))}
    for name in ("fit", "stand", "inside"):
        values = 100 * np.array([getattr(error, name) for error in errors])
        out |= {f"{name}_cm.median": float(np.median(values)), f"{name}_cm.p95": float(np.percentile(values, 95))}
    return out
