# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture as modelers make it: bevels, cushions, thin shells, loose parts in one another, any origin and front."""
