# SPDX-License-Identifier: GPL-3.0-or-later
"""Any humanoid rig: which of its bones is which joint of the model skeleton, and motion to it and back."""
