# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys carried out in time: targets, completion, the machine."""
