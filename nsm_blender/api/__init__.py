# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions of the public Python API; scripts import them from `nsm_blender` itself."""
