# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of `nsm-blender`, one file each."""
