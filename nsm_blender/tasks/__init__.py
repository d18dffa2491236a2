# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys: one protocol, one machine, one file an action; arrival times and validation before the bake."""
