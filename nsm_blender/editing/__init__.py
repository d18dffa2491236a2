# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints, style, the manifold solver."""
