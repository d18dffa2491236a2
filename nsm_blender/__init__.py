# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine and its public Python API: arrays in, arrays out. It never imports bpy.

Everything public is imported from here, `from nsm_blender import Shot, bake`; docs/python_api.md shows how. Importing
the package costs nothing: each name is loaded from its room when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.baking import bake as bake
    from .api.baking import begin_bake as begin_bake
    from .api.baking import begin_check as begin_check
    from .api.baking import find_problems as find_problems
    from .api.baking import foresee as foresee
    from .api.baking import supported_actions as supported_actions
    from .api.evaluation import System as System
    from .api.evaluation import evaluate as evaluate
    from .api.farm import FileBake as FileBake
    from .api.farm import bake_files as bake_files
    from .api.manifold import StrikeTarget as StrikeTarget
    from .api.manifold import SynthesisOptions as SynthesisOptions
    from .api.manifold import begin_edit as begin_edit
    from .api.manifold import begin_synthesis as begin_synthesis
    from .api.manifold import blend_styles as blend_styles
    from .api.manifold import bundled_style as bundled_style
    from .api.manifold import constraints_from_json as constraints_from_json
    from .api.manifold import constraints_to_json as constraints_to_json
    from .api.manifold import edit as edit
    from .api.manifold import style_of as style_of
    from .api.manifold import synthesize as synthesize
    from .api.scene import begin_guess as begin_guess
    from .api.scene import begin_proposal as begin_proposal
    from .api.scene import box_mesh as box_mesh
    from .api.scene import check_handles as check_handles
    from .api.scene import collider_of as collider_of
    from .api.scene import export_clip as export_clip
    from .api.scene import guess_role as guess_role
    from .api.scene import import_motion as import_motion
    from .api.scene import propose_handles as propose_handles
    from .api.scene import propose_mapping as propose_mapping
    from .api.work import Progress as Progress
    from .api.work import Steps as Steps
    from .api.work import Work as Work
    from .baking.bake import Bake as Bake
    from .baking.nsm import Model as Model
    from .baking.nsm import SceneBake as SceneBake
    from .errors import ColliderError as ColliderError
    from .errors import EditError as EditError
    from .errors import FileFormatError as FileFormatError
    from .errors import LabelError as LabelError
    from .errors import RigError as RigError
    from .errors import RouteError as RouteError
    from .errors import ShotError as ShotError
    from .errors import UserError as UserError
    from .errors import WeightsError as WeightsError
    from .geometry.colliders import Collider as Collider
    from .geometry.colliders import Cuboids as Cuboids
    from .geometry.mesh import TriangleMesh as TriangleMesh
    from .geometry.obj_file import read_obj as read_obj
    from .geometry.roles import KINDS as KINDS
    from .geometry.roles import ROLES as ROLES
    from .geometry.roles import Carryable as Carryable
    from .geometry.roles import Climbable as Climbable
    from .geometry.roles import Door as Door
    from .geometry.roles import Handles as Handles
    from .geometry.roles import Proposal as Proposal
    from .geometry.roles import Seat as Seat
    from .geometry.roles import Surface as Surface
    from .labels.capture import LabeledCapture as LabeledCapture
    from .labels.capture import read_capture as read_capture
    from .manifold.constraints import BoneLengths as BoneLengths
    from .manifold.constraints import Constraint as Constraint
    from .manifold.constraints import FloorHeight as FloorHeight
    from .manifold.constraints import FootSkate as FootSkate
    from .manifold.constraints import KeepTrajectory as KeepTrajectory
    from .manifold.constraints import LookAt as LookAt
    from .manifold.constraints import PinJoint as PinJoint
    from .manifold.constraints import PoseKey as PoseKey
    from .manifold.edit import Edit as Edit
    from .manifold.spacing import Passes as Passes
    from .manifold.spacing import passes_between as passes_between
    from .manifold.strike import StrikeShot as StrikeShot
    from .manifold.strike import StrikeSynthesis as StrikeSynthesis
    from .manifold.style import Style as Style
    from .manifold.style import StyleSettings as StyleSettings
    from .manifold.synthesis import Crowd as Crowd
    from .manifold.synthesis import Synthesis as Synthesis
    from .manifold.tempo import Tempo as Tempo
    from .manifold.tempo import retimed as retimed
    from .models.synthesis import Stepping as Stepping
    from .motion.blending import placed as placed
    from .motion.foot_lock import Heights as Heights
    from .motion.looping import Loop as Loop
    from .motion.looping import loop_gait as loop_gait
    from .motion.mirror import mirrored as mirrored
    from .motion.motion import Motion as Motion
    from .motion.rotations import Array as Array
    from .motion.skeleton import MODEL_SKELETON as MODEL_SKELETON
    from .motion.skeleton import Skeleton as Skeleton
    from .planning.path_on_ground import BlockedPathError as BlockedPathError
    from .rigging.fingers import FingerBone as FingerBone
    from .rigging.fingers import find_fingers as find_fingers
    from .rigging.fingers import finger_rotations as finger_rotations
    from .rigging.joints import BoneInfo as BoneInfo
    from .rigging.joints import RigInfo as RigInfo
    from .rigging.mapping import Mapping as Mapping
    from .rigging.mapping import Match as Match
    from .rigging.retarget import Retargeter as Retargeter
    from .rigging.retarget import RigMotion as RigMotion
    from .shot.goals import ACTIONS as ACTIONS
    from .shot.goals import LOCOMOTION as LOCOMOTION
    from .shot.goals import ActionKey as ActionKey
    from .shot.goals import Goal as Goal
    from .shot.goals import RouteOptions as RouteOptions
    from .shot.shot import PathFollow as PathFollow
    from .shot.shot import Shot as Shot
    from .shot.shot import VelocityFollow as VelocityFollow
    from .shot.shot import per_frame as per_frame
    from .stepwise import Stepwise as Stepwise
    from .stepwise import finished as finished
    from .tasks.arrival_times import Foreseen as Foreseen
    from .tasks.validation import Problem as Problem

__version__ = "0.1.0"

_ROOMS = {
    "api.baking": ("bake", "begin_bake", "begin_check", "find_problems", "foresee", "supported_actions"),
    "api.evaluation": ("System", "evaluate"),
    "api.farm": ("FileBake", "bake_files"),
    "api.manifold": (
        "SynthesisOptions",
        "StrikeTarget",
        "bundled_style",
        "blend_styles",
        "constraints_from_json",
        "constraints_to_json",
        "begin_edit",
        "begin_synthesis",
        "edit",
        "style_of",
        "synthesize",
    ),
    "api.scene": (
        "propose_mapping",
        "begin_guess",
        "begin_proposal",
        "box_mesh",
        "check_handles",
        "collider_of",
        "export_clip",
        "guess_role",
        "import_motion",
        "propose_handles",
    ),
    "api.work": ("Progress", "Steps", "Work"),
    "baking.bake": ("Bake",),
    "baking.nsm": ("Model", "SceneBake"),
    "errors": (
        "ColliderError",
        "EditError",
        "FileFormatError",
        "LabelError",
        "RigError",
        "RouteError",
        "ShotError",
        "UserError",
        "WeightsError",
    ),
    "geometry.colliders": ("Collider", "Cuboids"),
    "geometry.mesh": ("TriangleMesh",),
    "geometry.obj_file": ("read_obj",),
    "geometry.roles": ("Carryable", "Climbable", "Door", "Handles", "KINDS", "Proposal", "ROLES", "Seat", "Surface"),
    "labels.capture": ("LabeledCapture", "read_capture"),
    "manifold.constraints": (
        "BoneLengths",
        "Constraint",
        "FloorHeight",
        "FootSkate",
        "KeepTrajectory",
        "LookAt",
        "PinJoint",
        "PoseKey",
    ),
    "manifold.edit": ("Edit",),
    "manifold.strike": ("StrikeShot", "StrikeSynthesis"),
    "manifold.style": ("Style", "StyleSettings"),
    "manifold.synthesis": ("Crowd", "Synthesis"),
    "manifold.tempo": ("Tempo", "retimed"),
    "models.synthesis": ("Stepping",),
    "motion.blending": ("placed",),
    "motion.foot_lock": ("Heights",),
    "manifold.spacing": ("Passes", "passes_between"),
    "motion.looping": ("Loop", "loop_gait"),
    "motion.mirror": ("mirrored",),
    "motion.motion": ("Motion",),
    "motion.rotations": ("Array",),
    "motion.skeleton": ("MODEL_SKELETON", "Skeleton"),
    "planning.path_on_ground": ("BlockedPathError",),
    "rigging.fingers": ("FingerBone", "find_fingers", "finger_rotations"),
    "rigging.joints": ("BoneInfo", "RigInfo"),
    "rigging.mapping": ("Mapping", "Match"),
    "rigging.retarget": ("Retargeter", "RigMotion"),
    "shot.goals": ("ACTIONS", "ActionKey", "Goal", "LOCOMOTION", "RouteOptions"),
    "shot.shot": ("PathFollow", "Shot", "VelocityFollow", "per_frame"),
    "stepwise": ("Stepwise", "finished"),
    "tasks.arrival_times": ("Foreseen",),
    "tasks.validation": ("Problem",),
}
"""What is public, and where it is defined: the same list as above, for the running program."""

_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name from its room."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What completion shows."""
    return sorted({*globals(), *__all__})
