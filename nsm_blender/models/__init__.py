# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks: one file per paper."""
