# SPDX-License-Identifier: GPL-3.0-or-later
"""The passes of the clean-up, in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from ..geometry.colliders import Collider, Placed, Surroundings
from ..geometry.ground import Ground
from ..geometry.scene_state import pose_at, to_world
from ..models.nsm import ACTIONS, CONTACTS, FPS
from ..models.sway import Sample
from ..motion.contacts import firming_contacts
from ..motion.easing import eased
from ..motion.filters import gaussian
from ..motion.foot_lock import planting_feet
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, from_exponential_map, rotate, wrap_angle
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..rollout.held_objects import TOUCHES, Hands, grasp_of
from ..rollout.nsm import SceneRecord
from ..rollout.pose import limit_elbows, look_at, pivoted
from ..stepwise import FRAMES, Stepwise, by_frames
from .allowed_contacts import Room
from .balls import ball_radii
from .corrections import Correction, held, seat_error
from .foot_contacts import foot_contacts
from .footholds import finding_footholds
from .ground_footholds import footholds_on_ground, reached_contacts, surface_along
from .hand_targets import carrying, gripping, leaning, resting, settled, with_palms, with_wrists
from .kinematics import HIPS, PELVIS
from .postural_sway import held_by_seat, standing_weight, swayed
from .seat_targets import SEAT_TARGETS, on_seat
from .seated_feet import keep_feet
from .seating import Seating
from .terms import Wanted
from .whole_body import WholeBody, stood

RISING = 0.3 * FPS
"""Standard deviation in frames of the filter on the height of hips that footholds raise: a step takes three times as
long."""
GAZE = 0.3 * FPS
"""Frames before the hands take or leave a thing from which the face is turned to it, and after which it is free."""
GAZE_BLEND = 0.7 * FPS
"""Frames in which the face turns there and back."""
HANDS = [CONTACTS.index(side + "Hand") for side in ("Left", "Right")]
"""Columns of the hands in contact labels."""
STANDS = 0.5
"""Label of idling from which the character stands and waits."""
CLIMBS = 0.5
"""Label of climbing from which the character climbs."""


class Draft:
    """A motion of T frames on its way from what the network predicted to rigid bones; passes change it in turn.

    hips: (T, 3), and rotations: (T, J, 4) of the world, before feet are planted. body: places (T, J, 3) and world
    rotations of rigid bones, and before: the same before they gave way to anything. wanted: (T, J, 3) joint places that
    feet should meet. footholds: of each side, by how many meters (T, 3) its foot is moved onto steps. contacts: (T, 4)
    of CONTACT_JOINTS, and locked: those of them that hold the feet. things: poses (T, 7) of what was moved. without:
    names of what is left out. radii: meters of the capsules of another body than the model's. ground: that is walked
    on, None for a level floor at the height of the first root, and things that were climbed. sway: of T frames.
    """

    def __init__(
        self,
        record: SceneRecord,
        seatings: Sequence[Seating],
        hands: Hands,
        colliders: Sequence[Collider],
        things: dict[str, Array],
        rate: float,
        without: Collection[str],
        radii: Sequence[float] = (),
        ground: Ground | None = None,
        sway: Sample | None = None,
    ) -> None:
        self.radii, self.ground, self.sway = radii, ground, sway
        self.record, self.seatings, self.hands, self.colliders = record, seatings, hands, colliders
        self.rate, self.without = rate, without
        self.by_name = {collider.name: collider for collider in colliders}
        self.hips, self.rotations, self.root = record.places[:, 0].copy(), record.rotations.copy(), record.root.copy()
        self.wanted = record.places
        self.footholds: dict[str, Array] = {}
        self.contacts = self.locked = np.zeros((len(record.root), len(CONTACT_JOINTS)), dtype=np.float32)
        self.body = self.before = record.places, record.rotations
        self.things = things
        self._steps = Surroundings([collider for collider in colliders if collider.role == "climbable"])

    def steps(self, frame: int) -> Placed:
        """What may be climbed, at a frame of the rollout."""
        return self._steps.at(frame * self.rate)

    def corrections(self) -> list[Correction]:
        """How far hips, palms and boxes were off their places in the rollout, and are now, in the order of the keys."""
        places, rotations = self.body
        record = self.record
        out = []
        for seating in self.seatings:
            raw = seat_error(seating, record.places[:, 0], record.rotations, record.root)
            now = seat_error(seating, places[:, 0], rotations, self.root)
            out.append(Correction(seating.key, "hips", *raw, *now))
        for hold in self.hands.holds:
            out += held(hold, self.before, self.body)
        return sorted(out, key=lambda one: one.key)


def _meet_wrists(draft: Draft) -> Iterator[None]:
    draft.rotations = yield from by_frames(with_wrists, draft.record.places, draft.rotations)


def _find_contacts(draft: Draft) -> Iterator[None]:
    draft.wanted = pivoted(draft.record.places, draft.rotations)
    yield
    labels = foot_contacts(draft.record)
    if draft.record.steps is not None:
        # On stairs a foot stands higher or lower than the root, and only the network that walks there knows when.
        labels = np.where(draft.record.steps >= 0, draft.record.steps, labels)
    # On hands and knees the feet hang behind the edge.
    leans = (_idle_hands(draft)[:, HANDS] > TOUCHES).any(axis=1)
    borne = leans & (draft.record.actions[:, ACTIONS.index("climb")] > CLIMBS)
    draft.contacts = yield from firming_contacts(labels, draft.wanted, FPS, borne)
    if draft.ground is not None:
        draft.wanted = yield from footholds_on_ground(draft.wanted, draft.contacts, draft.ground, draft.root)


def _keep_seated_feet(draft: Draft) -> Iterator[None]:
    for seating in draft.seatings:
        yield
        keep_feet(seating, draft.contacts, draft.wanted, draft.rotations)


def _lock_feet(draft: Draft) -> Iterator[None]:
    yield
    draft.locked = draft.contacts


def _sway(draft: Draft) -> Iterator[None]:
    """Sway where the character stands or sits and does nothing with its hands."""
    if draft.sway is None:
        return
    count = len(draft.root)
    stands = draft.record.actions[:, ACTIONS.index("idle")] > STANDS
    stands &= (draft.locked > 0).reshape(-1, 2, 2).any(axis=2).all(axis=1)
    sits = np.zeros(count, dtype=bool)
    for seating in draft.seatings:
        stands[seating.used(count)] = False
        sits[seating.settled : seating.left] = True
    stands |= sits
    for hold in draft.hands.holds:
        stands[hold.taken : count if hold.left is None else hold.left] = False
    for grip in draft.hands.grips:
        stands[grip.first : grip.last + 1] = False
    yield
    weight = standing_weight(stands, FPS)
    if weight.any():
        facing = draft.root[:, 3]
        sample = held_by_seat(draft.sway, sits)
        draft.hips, draft.rotations = swayed(draft.hips, draft.rotations, facing, weight, sample)
        yield
        draft.rotations = yield from by_frames(limit_elbows, draft.rotations)


def _plant(draft: Draft) -> Iterator[None]:
    """Rigid bones with the toes where they are wanted, and held there while their feet are locked."""
    ground = np.array([0.0, 0.0, 0.0 if draft.ground else float(draft.record.root[0, 2])])
    own_heights = draft.ground is None and bool(np.ptp(draft.record.root[:, 2]) >= 1e-6)
    places, turned = yield from planting_feet(
        (draft.hips - ground)[None],
        draft.rotations[None],
        draft.locked[None],
        None if draft.ground is None else surface_along(draft.ground, draft.record.root),
        targets=(draft.wanted - ground)[None],
        own_heights=own_heights,
    )
    draft.body = draft.before = places[0] + ground, turned[0]


def _leave_in_time(draft: Draft) -> Iterator[None]:
    """Feet that walk over ground stand as long as their legs reach it."""
    if draft.ground is None or draft.record.steps is None:
        return
    heights = surface_along(draft.ground, draft.record.root)
    walks = draft.record.steps >= 0
    reached = np.where(walks, reached_contacts(draft.body[0], draft.locked, heights), draft.locked)
    if (reached != draft.locked).any():
        draft.locked, draft.contacts = reached, np.minimum(draft.contacts, reached)
        yield from _plant(draft)


def _find_footholds(draft: Draft) -> Iterator[None]:
    floor = float(draft.record.root[0, 2])
    draft.contacts, draft.footholds = yield from finding_footholds(draft.wanted, draft.contacts, draft.steps, floor)
    for side, shift in draft.footholds.items():
        draft.wanted[:, MODEL_SKELETON.index(side + "Toe")] += shift


def _raise_hips(draft: Draft) -> Iterator[None]:
    """Raise hips with footholds: the root's ground is a mean over a circle, of which lower steps are a part, and a body
    on a small top would stand with bent knees."""
    if draft.footholds:
        raised = np.min([shift[:, 2] for shift in draft.footholds.values()], axis=0)
        draft.hips[:, 2] += gaussian(np.maximum(raised, 0), RISING)
    yield


def _solve(draft: Draft) -> Iterator[None]:
    """Give way with the whole body, and move with it what it carries."""
    wanted = yield from _wanted(draft)
    body = WholeBody(*draft.body, wanted, draft.without)
    displaced = yield from body.displacing()
    moves = stood(displaced, body.stands)
    yield
    draft.body = body.posed(moves)
    draft.root[:, :2] += moves[:, HIPS][:, :2]
    draft.root[:, 3] += _turned(draft.root[:, 3], moves[:, PELVIS])
    for hold, load in zip(draft.hands.holds, wanted.loads, strict=True):
        yield
        settled(hold, load.moved(draft.before[0], draft.body[0]), draft.things[hold.name])


def _turned(facing: Array, turns: Array) -> Array:
    """Radians (T,) about +Z by which rotation vectors (T, 3) turn a body that faces angles (T,)."""
    ahead = np.append(direction(facing), np.zeros((len(facing), 1)), axis=1)
    return wrap_angle(angle_of(rotate(from_exponential_map(turns), ahead)[:, :2]) - facing)


def _press_palms(draft: Draft) -> Iterator[None]:
    yield
    draft.body = with_palms(*draft.body, draft.hands.holds, draft.things)


def _look(draft: Draft) -> Iterator[None]:
    """Turn the face to what is taken, put down or opened, while that is done."""
    places, rotations = draft.body
    gazes = _gazes(len(places), draft.hands, draft.things)
    yield
    rotations = look_at(places, rotations, *gazes)
    yield
    places = yield from by_frames(MODEL_SKELETON.positions, places[:, 0], rotations)
    draft.body = places, rotations


PASSES: dict[str, Callable[[Draft], Iterator[None]]] = {
    "predicted_wrists": _meet_wrists,
    "contacts": _find_contacts,
    "footholds": _find_footholds,
    "raised_hips": _raise_hips,
    "seated_feet": _keep_seated_feet,
    "foot_lock": _lock_feet,
    "postural_sway": _sway,
    "rigid_bones": _plant,
    "reached_ground": _leave_in_time,
    "whole_body": _solve,
    "palms": _press_palms,
    "gaze": _look,
}
"""The passes by their names, in their order, each in pieces of work."""
NEEDED = frozenset({"contacts", "rigid_bones", "reached_ground", "whole_body"})
"""Names of the passes that cannot be left out."""
GRASPS = "grasp_targets"
TARGETS = (*SEAT_TARGETS, GRASPS)
"""Names of what the whole body is wanted to do, each of which can be left out."""


def _wanted(draft: Draft) -> Stepwise[Wanted]:
    """What is wanted of the whole body."""
    hands, seatings, colliders, without = draft.hands, draft.seatings, draft.by_name, draft.without
    places, rotations = draft.body
    yield
    room = Room(draft.record, hands, draft.colliders, draft.things, draft.rate)
    stands = {
        side + "Foot": (draft.locked[:, [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]] > 0).any(
            axis=1
        )
        for side in ("Left", "Right")
    }
    radii = ball_radii(draft.radii)
    out = Wanted(stands, room.obstacles, room.gives(seatings, radii), radii=radii)
    for seating in seatings:
        yield
        seat = colliders[seating.aim.thing]
        out.by.extend(on_seat(seating, places, rotations, draft.root[:, 3], seat, draft.rate, draft.radii, without))
    for hold in hands.holds:
        yield
        at, load = carrying(hold, places, rotations, colliders[hold.name], room.obstacles)
        out.loads.append(load)
        if GRASPS not in without:
            out.at.extend(at)
    if GRASPS not in without:
        for seating in seatings:
            yield
            out.at.extend(resting(seating, places, colliders[seating.aim.thing], draft.record.contacts, draft.rate))
        out.at.extend(leaning(places, _idle_hands(draft), draft.steps))
        turned = [grip for grip in hands.grips if grip.name in draft.things and grip.last > grip.first]
        out.at.extend(gripping(grip, places, rotations, draft.things[grip.name]) for grip in turned)
    return out


def _idle_hands(draft: Draft) -> Array:
    """Contact labels (T, 5) of models.nsm.CONTACTS without those of hands that hold something, or of a body that
    sits."""
    out = draft.record.contacts.copy()
    for hold in draft.hands.holds:
        out[hold.taken : len(out) if hold.left is None else hold.left, HANDS] = 0
    for grip in draft.hands.grips:
        out[grip.first : grip.last + 1, HANDS] = 0
    for seating in draft.seatings:
        out[seating.used(len(out))] = 0
    return out


def tracks(hands: Hands, colliders: Sequence[Collider], count: int, rate: float) -> Stepwise[dict[str, Array]]:
    """Poses (T, 7) of all things that were moved."""
    by_name = {collider.name: collider for collider in colliders}
    out = {}
    for name in sorted({name for moved in hands.tracks for name in moved}):
        poses = []
        for frame, moved in enumerate(hands.tracks[:count]):
            if frame % FRAMES == 0:
                yield
            poses.append(moved[name] if name in moved else pose_at(by_name[name], frame * rate))
        out[name] = np.array(poses)
    return out


def _gazes(count: int, hands: Hands, things: dict[str, Array]) -> tuple[Array, Array]:
    """What the face is turned to (T, 3), and how much (T,)."""
    gazes = [
        (grasp_of(hold.handles, things[hold.name])[0], moment, moment)
        for hold in hands.holds
        for moment in (hold.taken, hold.left)
        if moment is not None
    ]
    gazes += [
        (to_world(grip.place, things[grip.name]), grip.first, min(grip.last, grip.first + round(GAZE)))
        for grip in hands.grips
        if grip.name in things
    ]
    weight, target = np.zeros(count), np.zeros((count, 3))
    for place, first, last in gazes:
        mine = eased(count, first - GAZE - GAZE_BLEND, first - GAZE, last + GAZE, last + GAZE + GAZE_BLEND)
        more = mine > weight
        weight[more], target[more] = mine[more], place[more]
    return target, weight
