# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs of any kind whose bones were bound to the model's joints: motion as keys of their bones, and back.

The engine says where each mapped bone points in the world; what carries each bone says which channels bring it there.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.errors import RigError
from ..nsm_blender.motion.foot_lock import Heights
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.root import root_track
from ..nsm_blender.motion.rotations import Array, from_matrix, from_yaw, make_continuous, to_matrix
from ..nsm_blender.motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON
from ..nsm_blender.rigging.body_measure import BodyMeasure
from ..nsm_blender.rigging.mapping import Mapping
from ..nsm_blender.rigging.retarget import Retargeter, RigMotion
from ..nsm_blender.stepwise import Stepwise, by_frames, finished
from . import actions, binding, carriers, controls, locks, skins
from .carriers import Carried, Switches
from .rig import Rig, Values, bone_path, in_mode, orientations, rotation_attribute

_HANDS = ("LeftHand", "RightHand")
_FEET = MODEL_SKELETON.indices(["LeftFoot", "RightFoot"])
_SWITCHED = 1e-4
"""How exactly a switch has to be where it is wanted."""
_SOLVED = 0.02
"""Meters by which a limb may miss a pose that Blender's solver of inverse kinematics moves."""
_ALIKE = 1e-3
"""How exactly two kinds of controls have to hold one pose: as a matrix entry, and a share of the limb's length."""


@dataclass(frozen=True, eq=False)
class _Target:
    """What a keyed bone is to do in the world. rotation: (T, 3, 3) of its own axes, or None. place: (T, 3) meters of
    its head, or None where it hangs on another bone.
    """

    rotation: Array | None
    place: Array | None


@dataclass(frozen=True, eq=False)
class _Object:
    """How the armature object is keyed. above: (4, 4) what comes before its own channels. matrix: (4, 4) where it
    stands now in the world.
    """

    above: Array
    matrix: Array
    mode: str


class BoundRig(Rig):
    """An armature with a binding. Made by `read`. limbs: those whose controls of inverse kinematics get keys, too.
    inverse: those of them that these controls move."""

    def __init__(
        self,
        obj: bpy.types.Object,
        retargeter: Retargeter,
        mapping: Mapping,
        carried: list[Carried],
        limbs: list[controls.Limb],
        inverse: list[controls.Limb],
        switches: Switches,
    ) -> None:
        bones = tuple(retargeter.bones)
        super().__init__(obj.name, retargeter.scale, bones, tuple(controls.moved_by(obj, bone) for bone in bones))
        self.body_radii = retargeter.body_radii
        self._retargeter, self._carried, self._switches = retargeter, carried, switches
        self._limbs, self._inverse_limbs = limbs, inverse
        self._joint_of = {joint: bones.index(match.bone) for joint, match in mapping.matches.items()}
        self._rests = {bone.name: np.array(bone.matrix_local, dtype=np.float64) for bone in obj.data.bones}
        self._locks = {bone.name: locks.of(obj.pose.bones[bone.name]) for bone in carried}
        self._offsets = _offsets(obj, carried)
        self._stiff = controls.stretched(obj, inverse)
        both = controls.limbs(obj, bones, legs=True, arms=True)
        self._rolled = np.array([[bones.index(name) for name in limb.bones[:3]] for limb in both], dtype=int)
        self._free = carriers.is_free(obj, bones)
        self._between = {name for bone in bones for name in carriers.above(obj, bone)} - {b.name for b in carried}
        self._made: tuple[Motion, RigMotion] | None = None
        self.root: str | None = None
        self.object: _Object | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The controls that get keys, too."""
        return tuple(dict.fromkeys((*super().named, *(bone.name for bone in self._carried))))

    @property
    def slack(self) -> float:
        """More where inverse kinematics moves limbs."""
        return max(super().slack, _SOLVED) if self._inverse_limbs else super().slack

    def to_rig(self, motion: Motion) -> RigMotion:
        """`going` at once."""
        return finished(self.going(motion))

    def going(self, motion: Motion) -> Stepwise[RigMotion]:
        """The motion, blended, on the rig, in pieces of work."""
        if self._made is None or self._made[0] is not motion:
            shown = self.shown(motion)
            yield
            self._made = (motion, (yield from self._retargeter.going(shown, _held(shown))))
        return self._made[1]

    def expected(self, motion: Motion) -> Array:
        """The mapped bones' heads, and for hips and joints that the rig lacks the scaled places."""
        out = self._retargeter.targets(self.shown(motion))
        places = self.to_rig(motion).places
        for joint, bone in self._joint_of.items():
            if joint in MODEL_SKELETON.names[1:]:
                out[:, MODEL_SKELETON.index(joint)] = places[:, bone]
        return out

    def wanted(self, motion: Motion, at: Array) -> tuple[Array, Array]:
        """Heads and directions of all keyed bones."""
        made = self.to_rig(motion)
        return made.places[at], to_matrix(made.rotations[at])[..., 1]

    def joints(self, heads: Array, motion: Motion, at: Array) -> Array:
        """The mapped bones' heads; hips by how far the first bone is from where it belongs."""
        out = self.expected(motion)[at]
        out[:, 0] += heads[:, 0] - self.to_rig(motion).places[at, 0]
        for joint, bone in self._joint_of.items():
            if joint in MODEL_SKELETON.names[1:]:
                out[:, MODEL_SKELETON.index(joint)] = heads[:, bone]
        return out

    def body_measure(
        self, motion: Motion, at: Array, heads: Array, rotations: Array, ground: Heights | None = None
    ) -> BodyMeasure | None:
        """See the base class; of the mesh that was read with the rig."""
        return self._retargeter.body_measure(self.shown(motion), at, heads, rotations, ground)

    def keying(self, motion: Motion, world: Array, meters: float) -> Stepwise[list[actions.Channel]]:
        """Rotations of the keyed bones, places of those that move freely, switches, and the object where it moves."""
        targets = yield from self._targets(motion, world, meters)
        out = self._switched(len(motion))
        if self.object is not None:
            world = self._over_ground(motion, world, meters) @ self.object.matrix
            out += _object_channels(self.object, world)
        size = np.linalg.norm(world[:, :3, 0], axis=1)
        inverse = (world[:, :3, :3] / size[:, None, None]).transpose(0, 2, 1)
        poses: list[Array] = []
        places: list[Array] = []
        for bone in self._carried:
            yield
            given, place, axes = bone.frame(poses, places)
            target = targets[bone.name]
            basis = np.broadcast_to(np.eye(3), (len(motion), 3, 3))
            if target.rotation is not None:
                lock = self._locks[bone.name]
                q = lock.applied(make_continuous(from_matrix(np.swapaxes(given, -1, -2) @ inverse @ target.rotation)))
                basis = to_matrix(q)
                out += _rotation(bone, q, lock)
            if target.place is not None:
                there = np.einsum("tij,tj->ti", inverse, target.place / meters - world[:, :3, 3]) / size[:, None]
                location = np.einsum("...ij,...j->...i", np.linalg.inv(axes), there - place)
                out.append(actions.Channel(f"{bone_path(bone.name)}.location", location, bone.name))
                place = there
            out += self._put_back(bone, len(motion), located=target.place is not None)
            poses.append(given @ basis)
            places.append(np.broadcast_to(place, (len(motion), 3)))
        return out

    def posed(self, evaluated: bpy.types.Object, meters: float) -> tuple[Array, Array]:
        """Read from what the mesh follows, so that a limb that inverse kinematics moves is read rightly."""
        world = np.array(evaluated.matrix_world, dtype=np.float64)
        head = np.array(evaluated.pose.bones[self.bones[0]].head, dtype=np.float64)
        turned = orientations(evaluated, self.measured)
        if self._rolled.size:
            keyed = orientations(evaluated, tuple(self.bones[i] for i in self._rolled.flat))
            turned[self._rolled] = controls.with_roll(turned[self._rolled], keyed.reshape(*self._rolled.shape, 4))
        return (world[:3, :3] @ head + world[:3, 3]) * meters, turned

    def recovering(self, places: Array, rotations: Array, fps: float) -> Stepwise[tuple[Array, Array]]:
        """The engine's way back."""
        motion = yield from self._retargeter.coming_back(places, rotations, fps)
        return motion.positions[:, 0].astype(np.float64), motion.rotations.astype(np.float64)

    def needs_playing(self, obj: bpy.types.Object, paths: list[str]) -> bool:
        """Where constraints and drivers act, unless as they do in a bake; or bones between the mapped are animated."""
        if not self._free and self._as_baked(obj):
            return False
        return not self._free or any(path.startswith(bone_path(name)) for path in paths for name in self._between)

    def _as_baked(self, obj: bpy.types.Object) -> bool:
        """Whether the rig's own controls are switched as a bake switches them, and no others are animated.

        What carries each of them was found with the switches in these positions, so that their keys tell all.
        """
        if not self._switches or self._stiff or any(bone.limited for bone in self._carried):
            return False
        set_by_key = {f'{bone_path(bone)}["{name}"]': value for (bone, name), value in self._switches.items()}
        moved = tuple(f"{bone_path(name)}." for name in (*(bone.name for bone in self._carried), *self.finger_bones))
        for curve in actions.of(obj):
            wanted = 0.0 if curve.data_path.endswith(".ik_stretch") else set_by_key.get(curve.data_path)
            if wanted is not None:
                if any(abs(key.co.y - wanted) > _SWITCHED for key in curve.keyframe_points):
                    return False
            elif not curve.data_path.startswith(moved):
                return False
        there = obj.pose.bones
        return all(abs(there[bone][name] - value) < _SWITCHED for (bone, name), value in self._switches.items())

    def _agree(self, poses: Array, places: Array, index: dict[str, int]) -> bool:
        """Whether the controls of inverse kinematics are where a bake puts them for the pose of the others.

        poses, places: (K, T, 3, 3), (K, T, 3) of the keyed bones in the armature's space, by their `index`.
        """
        numbers = [index[name] for name in self.bones]
        turned = poses[numbers].swapaxes(0, 1)
        made = RigMotion(self.bones, np.empty(0), places[numbers].swapaxes(0, 1), 1.0)
        for limb in self._inverse_limbs:
            length = float(np.linalg.norm(np.subtract(*(self._rests[limb.bones[i]][:3, 3] for i in (0, 2)))))
            for name, target in self._inverse(limb, made, turned, 1.0).items():
                i = index[name]
                if target.rotation is not None and np.abs(poses[i] - target.rotation).max() > _ALIKE:
                    return False
                if target.place is not None and np.abs(places[i] - target.place).max() > _ALIKE * length:
                    return False
        return True

    def posing_by_keys(
        self, obj: bpy.types.Object, values: Values, world: Array, meters: float
    ) -> Stepwise[tuple[Array, Array] | None]:
        """Carriers first; None where controls of inverse kinematics were moved away from the pose of the others."""
        poses: list[Array] = []
        places: list[Array] = []
        count = len(values)
        for bone in self._carried:
            yield
            given, place, axes = bone.frame(poses, places)
            turned = given @ to_matrix(values.rotation(bone.name))
            if not bone.connected:
                place = place + np.einsum("...ij,...j->...i", axes, values.vector(bone.name, "location"))
            poses.append(np.broadcast_to(turned, (count, 3, 3)))
            places.append(np.broadcast_to(place, (count, 3)))
        yield
        index = {bone.name: i for i, bone in enumerate(self._carried)}
        if self._inverse_limbs and not self._agree(np.array(poses), np.array(places), index):
            return None
        own = world[:, :3, :3] / np.linalg.norm(world[:, :3, 0], axis=1)[:, None, None]
        rotations = np.empty((count, len(self.bones), 4))
        for number, name in enumerate(self.bones):
            yield
            rotations[:, number] = from_matrix(own @ poses[index[name]])
        whole = np.broadcast_to(world, (count, 4, 4))
        head = np.einsum("tij,tj->ti", whole[:, :3, :3], places[index[self.bones[0]]]) + whole[:, :3, 3]
        return head * meters, rotations

    def _targets(self, motion: Motion, world: Array, meters: float) -> Stepwise[dict[str, _Target]]:
        made = yield from self.going(motion)
        turned = yield from by_frames(to_matrix, made.rotations)
        targets = {bone: _Target(turned[:, i], None) for i, bone in enumerate(self.bones)}
        for bone in (self.bones[0], *self._retargeter.floating):
            i = self.bones.index(bone)
            targets[bone] = _Target(turned[:, i], made.places[:, i])
        if self.root is not None:
            matrix = np.array(world[0]) @ self._rests[self.root]
            moved = self._over_ground(motion, world, meters) @ matrix
            axes = moved[:, :3, :3] / np.linalg.norm(moved[:, :3, :3], axis=-2, keepdims=True)
            targets[self.root] = _Target(axes, moved[:, :3, 3] * meters)
        size = float(np.linalg.norm(world[0, :3, 0])) * meters
        for limb in self._limbs:
            targets |= self._inverse(limb, made, turned, size)
        return targets

    def _inverse(self, limb: controls.Limb, made: RigMotion, turned: Array, size: float) -> dict[str, _Target]:
        """What the controls of a limb's inverse kinematics are to do. size: meters of a unit of the armature."""
        numbers = [self.bones.index(name) for name in limb.bones if name in self.bones]
        upper, lower, end = numbers[:3]
        places = made.places[:, [upper, lower, end]]
        out = {limb.end: self._along(limb.bones[2], limb.end, turned[:, end], places[:, 2], size)}
        if limb.toe is not None and len(numbers) > 3:
            toe = self._along(limb.bones[3], limb.toe, turned[:, numbers[3]], places[:, 2], size)
            out[limb.toe] = _Target(toe.rotation, None)
        rests = [self._rests[name] for name in (*limb.bones[:2], limb.pole)]
        away = rests[2][:3, 3] - rests[1][:3, 3]
        distance = float(np.linalg.norm(away))
        direction = turned[:, upper] @ (rests[0][:3, :3].T @ (away / max(distance, 1e-9)))
        out[limb.pole] = _Target(None, controls.pole_places(places, direction, np.asarray(distance * size)))
        return out

    def _along(self, bone: str, control: str, turned: Array, place: Array, size: float) -> _Target:
        """A control that moves with a bone as if they were one, from the rest pose on."""
        rest, other = self._rests[bone], self._rests[control]
        between = rest[:3, :3].T @ (other[:3, 3] - rest[:3, 3]) * size
        return _Target(turned @ (rest[:3, :3].T @ other[:3, :3]), place + turned @ between)

    def _over_ground(self, motion: Motion, world: Array, meters: float) -> Array:
        """World transforms (T, 4, 4) in Blender units from where the rest pose stands to the motion's root."""
        rests = np.array([self._rests[name] for name in self.bones])
        own = world[0, :3, :3] / np.linalg.norm(world[0, :3, :3], axis=0)
        head = (world[0, :3, :3] @ rests[0, :3, 3] + world[0, :3, 3]) * meters
        hips, turned = finished(self.recovering(head[None], from_matrix(own @ rests[:, :3, :3])[None], 1.0))
        positions = MODEL_SKELETON.positions(hips, turned)
        x, y, _, angle = root_track(positions, 1.0)[0].tolist()
        here = np.array([x, y, positions[0, _FEET, 2].min() - ANKLE_HEIGHT])
        root = motion.root.astype(np.float64)
        out = np.zeros((len(motion), 4, 4))
        out[:, :3, :3] = to_matrix(from_yaw(root[:, 3] - angle))
        out[:, :3, 3] = (root[:, :3] - out[:, :3, :3] @ here) * (self.scale / meters)
        out[:, 3, 3] = 1.0
        return out

    def _switched(self, count: int) -> list[actions.Channel]:
        return [
            actions.Channel(f'{bone_path(bone)}["{name}"]', np.full((count, 1), float(value)), bone)
            for (bone, name), value in self._switches.items()
        ] + [actions.Channel(f"{bone_path(bone)}.ik_stretch", np.zeros((count, 1)), bone) for bone in self._stiff]

    def _put_back(self, bone: Carried, count: int, *, located: bool) -> list[actions.Channel]:
        """Keys at rest for what was posed and would be in the way."""
        moved, scaled = self._offsets.get(bone.name, (False, False))
        path, out = bone_path(bone.name), []
        if moved and not located:
            out.append(actions.Channel(f"{path}.location", np.zeros((count, 3)), bone.name))
        if scaled:
            out.append(actions.Channel(f"{path}.scale", np.ones((count, 3)), bone.name))
        return out


def read(context: bpy.types.Context, obj: bpy.types.Object) -> BoundRig:
    """Describe a bound armature. Raises RigError with the reason when it cannot be animated."""
    settings, mapping = binding.of(obj), binding.mapping(obj)
    retargeter = Retargeter(binding.rig_info(context, obj), mapping, skins.read(context, obj))
    inverse = controls.limbs(obj, retargeter.bones, legs=settings.ik_legs, arms=settings.ik_arms)
    others = [limb for limb in controls.limbs(obj, retargeter.bones, legs=True, arms=True) if limb not in inverse]
    limbs = inverse + [limb for limb in others if _is_free(obj, limb)]
    switches = controls.switches(obj, inverse)
    root = _root_bone(obj, retargeter.bones) if settings.root_motion == "ROOT" else None
    names = _keyed(retargeter.bones, limbs, root)
    _check_bones(obj, names, (retargeter.bones[0], *retargeter.floating))
    carried = carriers.find(context, obj, names, switches | controls.stretching(obj, inverse))
    rig = BoundRig(obj, retargeter, mapping, carried, limbs, inverse, switches)
    rig.root = root
    rig.object = _object(obj) if settings.root_motion == "OBJECT" else None
    rig.notes = _notes(obj, carried)
    return rig


def _keyed(bones: tuple[str, ...], limbs: list[controls.Limb], root: str | None) -> list[str]:
    """The bones that get keys. A limb with inverse kinematics gets them on both kinds of its controls, whichever moves
    it: the animator can switch from one kind to the other at any frame, no control is left behind where the rig stands,
    and the roll of the bones, which the one kind cannot hold, is not lost.
    """
    out = [*bones] if root is None else [root, *bones]
    for limb in limbs:
        out += _controls_of(limb, bones)
    return out


def _controls_of(limb: controls.Limb, bones: tuple[str, ...]) -> list[str]:
    """The controls of a limb's inverse kinematics that get keys."""
    toes = [limb.toe] if limb.toe is not None and limb.bones[3] in bones else []
    return [limb.end, *toes, limb.pole]


def _is_free(obj: bpy.types.Object, limb: controls.Limb) -> bool:
    """Whether the controls of a limb's inverse kinematics can be keyed; where they do not move the limb, what stands
    in their way is no reason to refuse the rig."""
    names = _controls_of(limb, limb.bones)
    if any(name not in obj.pose.bones or carriers.driver_of(obj, name) is not None for name in names):
        return False
    return not any(any(obj.pose.bones[name].lock_location) or locks.of(obj.pose.bones[name]).any for name in names)


def _root_bone(obj: bpy.types.Object, bones: tuple[str, ...]) -> str:
    """The bone that moves over the ground."""
    chosen = binding.of(obj).root_bone
    if chosen:
        if chosen not in obj.data.bones:
            raise RigError(f"'{obj.name}' has no bone '{chosen}'; choose another root bone.")
        if chosen in bones:
            raise RigError(f"The root bone '{chosen}' of '{obj.name}' is bound to a joint; choose one above the hips.")
        return chosen
    found = controls.root_bone(obj) or carriers.above(obj, bones[0])[0]
    if found == bones[0]:
        raise RigError(f"'{obj.name}' has no bone above its hips; let the hips or the object move over the ground.")
    return found


def _object(obj: bpy.types.Object) -> _Object:
    """How the object is keyed. Raises RigError where its keys would not place it."""
    if any(c.enabled and c.influence > 0 for c in obj.constraints):
        raise RigError(f"The object '{obj.name}' has constraints and cannot carry the motion; let the hips move.")
    if any(obj.lock_location) or any(obj.lock_rotation):
        raise RigError(f"The object '{obj.name}' is locked in place and cannot carry the motion; let the hips move.")
    if obj.delta_location.length > 0 or abs(obj.delta_rotation_euler.to_quaternion().angle) > 0:
        raise RigError(f"The object '{obj.name}' has delta transforms; apply them (Ctrl+A), or let the hips move.")
    parent = obj.parent
    while parent is not None:
        if parent.animation_data or parent.constraints:
            raise RigError(f"'{parent.name}' moves '{obj.name}'; let the hips carry the motion instead of the object.")
        parent = parent.parent
    matrix = np.array(obj.matrix_world, dtype=np.float64)
    return _Object(matrix @ np.linalg.inv(np.array(obj.matrix_basis)), matrix, obj.rotation_mode)


def _object_channels(obj: _Object, world: Array) -> list[actions.Channel]:
    """Location and rotation of the object that put it at `world` (T, 4, 4)."""
    local = np.linalg.inv(obj.above) @ world
    axes = local[:, :3, :3] / np.linalg.norm(local[:, :3, :3], axis=-2, keepdims=True)
    values = in_mode(make_continuous(from_matrix(axes)), obj.mode)
    return [
        actions.Channel("location", local[:, :3, 3], "Object Transforms"),
        actions.Channel(rotation_attribute(obj.mode), values, "Object Transforms"),
    ]


def _rotation(bone: Carried, q: Array, lock: locks.Lock) -> list[actions.Channel]:
    """Keys of a bone's rotation (T, 4); locked components are left alone."""
    if lock.whole:
        return []
    components = lock.free if bone.mode not in ("QUATERNION", "AXIS_ANGLE") else ()
    path = f"{bone_path(bone.name)}.{rotation_attribute(bone.mode)}"
    return [actions.Channel(path, in_mode(q, bone.mode), bone.name, components)]


def _check_bones(obj: bpy.types.Object, names: list[str], placed: tuple[str, ...]) -> None:
    """Raise RigError for a bone that cannot be keyed. placed: the bones whose places are keyed."""
    for name in names:
        driven = carriers.driver_of(obj, name)
        if driven is not None:
            raise RigError(f"The bone '{name}' of '{obj.name}' has a driver on its {driven}; remove it before baking.")
    for name in placed:
        if any(obj.pose.bones[name].lock_location):
            raise RigError(f"The bone '{name}' of '{obj.name}' has a locked location; unlock it before baking.")
        bone = obj.data.bones[name]
        if bone.parent is not None and bone.use_connect:
            raise RigError(
                f"The bone '{name}' of '{obj.name}' is connected to its parent and cannot move; disconnect it, or bind "
                f"'{bone.parent.name}' as Root."
            )


def _notes(obj: bpy.types.Object, carried: list[Carried]) -> list[str]:
    """What was left alone."""
    out = []
    locked = [bone.name for bone in carried if locks.of(obj.pose.bones[bone.name]).any]
    if locked:
        out.append(f"Locked channels were left alone, of {', '.join(locked[:4])}{' ...' if len(locked) > 4 else ''}.")
    limited = [bone.name for bone in carried if bone.limited]
    if limited:
        out.append(f"Constraints limit {', '.join(limited[:4])}{' ...' if len(limited) > 4 else ''}.")
    return out


def _offsets(obj: bpy.types.Object, carried: list[Carried]) -> dict[str, tuple[bool, bool]]:
    """Bone -> whether its location and its scale are not at rest."""
    out = {}
    for bone in (obj.pose.bones[c.name] for c in carried):
        moved = not np.allclose(np.array(bone.location), 0.0, atol=1e-6)
        scaled = not np.allclose(np.array(bone.scale), 1.0, atol=1e-6)
        if moved or scaled:
            out[bone.name] = (moved, scaled)
    return out


def _held(motion: Motion) -> Array | None:
    """How much each hand holds something, (T, 2), where the motion tells."""
    if not set(_HANDS) <= set(motion.contact_names):
        return None
    return np.stack([motion.contacts[:, motion.contact_names.index(hand)] for hand in _HANDS], axis=1)
