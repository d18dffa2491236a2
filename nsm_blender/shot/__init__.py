# SPDX-License-Identifier: GPL-3.0-or-later
"""What the animator asked for: the shot, goals, action keys; JSON."""
