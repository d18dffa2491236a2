# SPDX-License-Identifier: GPL-3.0-or-later
"""How well retargeted motion keeps a rig's mesh out of the floor, the seat and itself: made-up bodies, by rule.

The mesh is posed as Blender's Armature modifier poses it, from the bones that a bake would key; nothing here asks the
retargeting what it holds for the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..baking.bake import Bake
from ..baking.nsm import SceneBake
from ..geometry.body import depth_of_points
from ..geometry.colliders import Surroundings
from ..geometry.mesh_distance import MeshDistance
from ..geometry.roles import Seat
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.root import direction
from ..motion.rotations import Array
from ..rigging.mapping import JOINTS, Mapping, Match
from ..rigging.retarget import Retargeter, RigMotion
from ..rigging.skin import Skin
from ..shot.shot import PathFollow, Shot
from .nsm_trials import carry_shot, pieces, sit_shot
from .rig_skins import TRUNK, Body, body, posed, shells
from .rigs import SIDES

Figures = dict[str, float]
Log = Callable[[str], None]

EVERY = 6
"""Frames from one at which the mesh is looked at to the next: 0.1 s."""
BARS = {"hands_cm": 1.0, "hands_share": 0.0, "sink_cm": 1.0, "float_cm": 1.0, "seat_cm": 1.0, "things_cm": 5.0}
"""Largest allowed value of each figure; upholstery gives way by 5 cm in every report."""
_TOUCHES = 0.5
"""Contact label above which a foot touches the ground."""
_DOES = 0.2
"""Action label above which an action is being done, as in a bake's report."""
_BACK, _FRONT = 0.3, 0.05
"""Meters behind and before the hip joints, at the model's size, in which the body rests on its seat."""
_SETTLES = 0.5
"""Seconds after its arrival from which a sitter sits still."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A motion to look at, and its shot. seat: height in meters of the seat in it, or None. seated: the frame from
    which the character sits still on it."""

    shot: Shot
    motion: Motion
    seat: float | None = None
    seated: int = 0


def scenes(radii: Sequence[float] = ()) -> dict[str, Scene]:
    """Standing and walking by the PFNN; sitting on a chair, and carrying a box, by the NSM, for a body with capsules of
    these radii, as in a `Shot`. Raises WeightsError."""
    return {"walk": walking(), "sit": sitting(radii), "carry": carrying(radii)}


def measured(made: Body, scene: Scene, *, fleshless: bool = False) -> Figures:
    """The figures of one body in one scene. fleshless: the retargeting is not told of the mesh."""
    motion = made_motion(made, scene, made.skin if not fleshless else None)
    scale = retargeter(made).scale
    return figures(made, motion, scene, scale)


def retargeter(made: Body, skin: Skin | None = None) -> Retargeter:
    """The retargeting to a body by the true mapping."""
    truth = made.rig.truth
    mapping = Mapping({joint: Match(truth[joint], 1.0, "") for joint in JOINTS if joint in truth})
    return Retargeter(made.rig.info, mapping, skin)


def made_motion(made: Body, scene: Scene, skin: Skin | None) -> RigMotion:
    """The scene's motion on the rig."""
    return retargeter(made, skin).to_rig(scene.motion)


def figures(made: Body, rig: RigMotion, scene: Scene, scale: float) -> Figures:
    """Largest depths in centimeters of the mesh, divided by the rig's scale: what a bar of 1 cm means for a toy.

    hands_cm: of the hands' skin in hips, trunk and thighs. hands_share: of the frames with more than a centimeter of
    that. sink_cm: of the soles below the floor. float_cm: above it while a foot touches it. seat_cm: of the hips and
    thighs in the seat, while the character sits, or over it. things_cm: of all skin in things but intended contacts.
    """
    motion = scene.motion
    touches = {side: np.max([motion.contacts[:, motion.contact_names.index(side + part)] for part in ("Foot", "Toe")],
                            axis=0) > _TOUCHES for side, _ in SIDES}  # fmt: skip
    hands, sink, above, seat = [0.0], [0.0], [0.0], [0.0]
    inside = [0.0]
    things = None
    if scene.shot.colliders:
        moved = motion.meta["things"]
        things = Surroundings([replace(c, poses=np.array(moved.get(c.name, c.poses))) for c in scene.shot.colliders])
    owners = np.repeat(list(made.parts), [len(part) for part, _ in made.parts.values()])
    sits, handles = (_does(motion, name) for name in ("sit", "carry"))
    joints = dict(zip(rig.bones, range(len(rig.bones)), strict=True))
    for frame in range(0, len(motion), EVERY):
        vertices = posed(made, rig.places[frame], rig.rotations[frame], rig.bones)
        trunk = MeshDistance(shells(made, vertices, TRUNK))
        skin = np.concatenate([made.parts[side + "Hand"][0] for side, _ in SIDES if side + "Hand" in made.parts])
        hands.append(float(trunk.depth_inside(vertices[skin]).max()))
        for side, _ in SIDES:
            feet = [made.parts[side + part][0] for part in ("Foot", "Toe") if side + part in made.parts]
            low = float(vertices[np.concatenate(feet), 2].min())
            sink.append(-low)
            if touches[side][frame]:
                above.append(low)
        if scene.seat is not None and frame >= scene.seated:
            hips = np.concatenate([made.parts[joint][0] for joint in ("Hips", "LeftUpLeg", "RightUpLeg")])
            middle = np.mean([rig.places[frame, joints[made.rig.truth[side + "UpLeg"]]] for side, _ in SIDES], axis=0)
            ahead = np.append(direction(motion.root[frame, 3]), 0.0)
            along = (vertices[hips] - middle) @ ahead
            resting = (along > -_BACK * scale) & (along < _FRONT * scale)
            seat.append(abs(scale * scene.seat - float(vertices[hips][resting, 2].min())))
        if things is not None:
            used = [collider.name for collider in scene.shot.colliders]
            middle, doing = motion.positions[frame, 0].astype(float), (bool(sits[frame]), bool(handles[frame]))
            inside.append(depth_of_points(vertices / scale, 0.0, owners, middle, frame, things, used, *doing))
    found = np.array(hands) / scale
    out = {"hands_cm": 100 * float(found.max()), "hands_share": float((found[1:] > 0.01).mean())}
    out |= {"sink_cm": 100 * max(sink) / scale, "float_cm": 100 * max(above) / scale}
    out |= {"things_cm": 100 * max(inside)} if things is not None else {}
    return out | ({"seat_cm": 100 * max(seat) / scale} if len(seat) > 1 else {})


def evaluate(names: Sequence[str], log: Log) -> Figures:
    """Figures of bodies in all scenes, `rigs.bodies.<body>.<scene>.<figure>`, and with `_by_bones` at its end what a
    figure is where the mesh is not known; a line of the log for each."""
    out: Figures = {}
    plain = scenes()
    for name in names:
        made = body(name)
        fitted = scenes(retargeter(made, made.skin).body_radii)
        for title in plain:
            for kind, scene in (("bones", plain[title]), ("mesh", fitted[title])):
                found = measured(made, scene, fleshless=kind == "bones")
                end = "_by_bones" if kind == "bones" else ""
                out |= {f"rigs.bodies.{name.replace(' ', '_')}.{title}.{key}{end}": v for key, v in found.items()}
                told = "  ".join(f"{key} {v:6.2f}{'!' if v > BARS[key] else ' '}" for key, v in found.items())
                log(f"{name:12} {title:6} {kind:5} {told}")
    return out


def _does(motion: Motion, action: str) -> Array:
    """Whether (T,) an action is being done."""
    if action not in motion.action_names:
        return np.zeros(len(motion), dtype=bool)
    return np.asarray(motion.actions[:, motion.action_names.index(action)] > _DOES)


def walking() -> Scene:
    """Two seconds of standing, a bend at a walk, and standing again."""
    stand, turn = round(2 * FPS), round(FPS / 3)
    speeds = np.concatenate((np.zeros(stand), np.linspace(0, 1.3, turn), np.full(round(3 * FPS), 1.3),
                             np.linspace(1.3, 0, turn), np.zeros(stand)))  # fmt: skip
    gaits = ["stand"] * stand + ["walk"] * (len(speeds) - 2 * stand) + ["stand"] * stand
    way = [[0.0, 0.0, 0.0], [0.0, -2.0, 0.0], [1.0, -4.0, 0.0], [5.0, -6.0, 0.0]]
    path = PathFollow(way, speeds.tolist(), gaits, [0.0] * len(speeds))
    shot = Shot("walk", FPS, len(speeds), path=path)
    return Scene(shot, Bake(shot).motion())


def sitting(radii: Sequence[float] = ()) -> Scene:
    """Sitting down on a chair with a back."""
    (piece,) = pieces(("chair",), 1, development=True)
    seat = piece.handles
    assert isinstance(seat, Seat)
    shot = replace(sit_shot(piece, np.random.default_rng([17, 1])), body_radii=list(radii))
    motion = SceneBake(shot).motion()
    settled = motion.meta["keys"][0]["arrived"] + round(_SETTLES * FPS)
    return Scene(shot, motion, float(seat.place[2]), settled)


def carrying(radii: Sequence[float] = ()) -> Scene:
    """Picking up a crate."""
    (piece,) = pieces(("crate",), 1, development=True)
    shot = replace(carry_shot(piece, np.random.default_rng([17, 2])), body_radii=list(radii))
    return Scene(shot, SceneBake(shot).motion())
