# SPDX-License-Identifier: GPL-3.0-or-later
"""Data sets, augmentation, the training loops. The only room that needs torch."""
