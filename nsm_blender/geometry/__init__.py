# SPDX-License-Identifier: GPL-3.0-or-later
"""Voxels, cuboid colliders, sensors, terrain."""
