# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of what a viewer sees in a motion, against recorded motion of the same action."""
