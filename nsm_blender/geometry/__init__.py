# SPDX-License-Identifier: GPL-3.0-or-later
"""Body capsules, voxels, cuboid colliders, sensors, ground height, and the roles and handles of furniture."""
