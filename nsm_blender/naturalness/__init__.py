# SPDX-License-Identifier: GPL-3.0-or-later
"""How a motion compares with those of recorded people: what a bake tells of itself, and the tables are made of."""
