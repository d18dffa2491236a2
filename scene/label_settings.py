# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of a capture as they are stored on an armature's data, whose keys the dope sheet shows.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import Any

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, StringProperty

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed."""

CONTACTS = {"LeftFoot": "left_heel", "LeftToe": "left_toe", "RightFoot": "right_heel", "RightToe": "right_toe"}
"""The engine's contact joints, in its order -> properties."""
ACTIONS = {"sit": "sit", "open": "open", "carry": "carry", "climb": "climb"}
"""The engine's actions besides walking, in its order -> properties."""
TOUCHING = {"LeftHand": "left_hand", "RightHand": "right_hand", "Hips": "hips"}
"""The engine's joints that touch things, in its order -> properties."""


class NSM_PG_labels(bpy.types.PropertyGroup):
    """The labels of a capture, with a key where each changes. What has no keys is the same in all frames."""

    filepath: StringProperty(name="Capture", description="The motion file that the labels are about", options=_FIXED)
    clip: StringProperty(name="Clip", description="Name of the capture in its label file", options=_FIXED)
    frame_start: IntProperty(name="First Frame", description="Frame of the capture's first pose", options=_FIXED)
    frames: IntProperty(name="Frames", description="Length of the capture; 0 without labels", options=_FIXED)
    fps: FloatProperty(name="Frame Rate", description="Frames per second of the capture", options=_FIXED)

    left_heel: BoolProperty(name="Left Heel", description="The left heel is on the ground")
    left_toe: BoolProperty(name="Left Toe", description="The left toe is on the ground")
    right_heel: BoolProperty(name="Right Heel", description="The right heel is on the ground")
    right_toe: BoolProperty(name="Right Toe", description="The right toe is on the ground")
    phase: FloatProperty(
        name="Phase",
        description="Cycles of the gait: a whole number where the right foot strikes, a half where the left foot does",
    )
    use_phase: BoolProperty(
        name="Override Phase",
        description="Save the phase of these keys; otherwise it follows from the contacts when labels are saved",
        options=_FIXED,
    )
    use_actions: BoolProperty(
        name="Actions",
        description="Save what is done besides walking; otherwise the training looks for it",
        options=_FIXED,
    )
    sit: BoolProperty(name="Sit", description="The character sits, sits down or gets up")
    open: BoolProperty(name="Open", description="The character opens a door")
    carry: BoolProperty(name="Carry", description="The character picks up, carries or puts down")
    climb: BoolProperty(name="Climb", description="The character climbs")
    left_hand: BoolProperty(name="Left Hand", description="The left hand touches a thing")
    right_hand: BoolProperty(name="Right Hand", description="The right hand touches a thing")
    hips: BoolProperty(name="Hips", description="The hips rest on a seat")
    transition: IntProperty(
        name="Transition",
        description="Number of the movement that leads into or out of an action, such as sitting down; 0 between them",
        min=0,
    )


CLASSES = (NSM_PG_labels,)


def of_armature(armature: bpy.types.Object) -> NSM_PG_labels:
    """The labels on an armature."""
    labels: NSM_PG_labels = armature.data.nsm.labels
    return labels


def has_labels(armature: bpy.types.Object | None) -> bool:
    """Whether a capture's labels are on the timeline."""
    return armature is not None and of_armature(armature).frames > 0


def name_of(prop: str) -> str:
    """What a property is called."""
    found: Any = NSM_PG_labels.bl_rna.properties[prop]
    return str(found.name)
