# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture as modelers make it: bevels, cushions, thin shells, overlapping loose parts, any origin and front."""
