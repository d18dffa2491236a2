# SPDX-License-Identifier: GPL-3.0-or-later
"""The only code that reads or writes Blender's data."""
