# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers' autoregression (NSM 4, PFNN 6) and the root filters."""
