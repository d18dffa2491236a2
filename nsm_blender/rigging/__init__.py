# SPDX-License-Identifier: GPL-3.0-or-later
"""Any humanoid rig: the mapping of its bones to the model skeleton's joints, and retargeting there and back."""
