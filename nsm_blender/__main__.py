# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m nsm_blender` is `nsm-blender`."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
