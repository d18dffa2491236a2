# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that operators write: whole or not at all, and told in words before the work where that cannot be."""

from __future__ import annotations

from ..nsm_blender.files import check_writable as check_writable
from ..nsm_blender.files import write_whole as write_whole
