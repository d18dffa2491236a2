# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shot to a motion, step by step."""
