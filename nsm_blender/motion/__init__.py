# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons, clips, rotations, file import, contacts, phase, gait, mirroring, inverse kinematics, foot lock,
retargeting."""
