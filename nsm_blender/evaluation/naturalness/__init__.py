# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of the naturalness of a motion, against recorded motion of the same action."""
