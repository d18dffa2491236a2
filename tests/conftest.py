# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# One thread: small matrices are slower on two, and results do not depend on the machine. Read when NumPy loads.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the clone that is tested."""
    return Path(__file__).resolve().parent.parent
