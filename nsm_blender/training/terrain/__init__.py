# SPDX-License-Identifier: GPL-3.0-or-later
"""Ground for motion that was recorded without it (PFNN 4.2): patches, their fit to the feet, data sets."""
