# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthesis, strikes, crowds, constraints, style and the manifold solver (Holden et al. 2016)."""
