# SPDX-License-Identifier: GPL-3.0-or-later
"""Occupancy grid, path search, narrow passages, approach poses, room to use things, speed profile."""
