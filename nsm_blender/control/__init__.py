# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots, trajectories and the autoregressive rollouts."""
