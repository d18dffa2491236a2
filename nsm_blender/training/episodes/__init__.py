# SPDX-License-Identifier: GPL-3.0-or-later
"""The data engine of the NSM: recorded and hand-made transitions composed into episodes with objects and goals."""
