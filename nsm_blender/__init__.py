# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine: arrays in, arrays out. It never imports bpy."""

__version__ = "0.1.0"
