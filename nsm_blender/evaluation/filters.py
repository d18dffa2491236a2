# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of the motion manifold: the picture of Fig. 3 and 4 of Holden et al. 2016, and a figure for it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..files import make_folder, write_whole
from ..models.manifold import FRAME, SHAPES, WIDTH, Float32
from ..models.weights import check_shapes, read_tensors

_ROWS, _COLUMNS = 3, 10
"""Rows and columns of filters in the picture."""
_RESOLUTION = 110
"""Dots an inch of the picture."""


def read_filters(path: Path) -> Float32:
    """W0 (UNITS, FRAME.size, WIDTH) of a weights file of the autoencoder. Raises WeightsError."""
    tensors = read_tensors(path)
    check_shapes(tensors, SHAPES, path)
    return tensors["w"]


def temporal_correlation(filters: Float32) -> float:
    """Correlation of the filters' weights with those one frame later: 1 where they change slowly, 0 for noise."""
    w = filters.astype(np.float64)
    return float(2 * (w[..., 1:] * w[..., :-1]).sum() / (np.square(w[..., 1:]).sum() + np.square(w[..., :-1]).sum()))


def draw(filters: Float32, path: Path) -> None:
    """Write a picture (.png) of a selection of the filters: time to the right, degrees of freedom downwards.

    Joint places are in the order of the skeleton, each x, y, z; below the line come the root's velocity and turn
    and the contacts. Filters are chosen evenly from the strongest to the weakest of the stronger half, and each
    has its own scale. Raises UserError when Matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError("Drawing the filters needs Matplotlib: pip install matplotlib.") from error
    order = np.argsort(-np.square(filters).sum((1, 2)))[: len(filters) // 2]
    chosen = order[np.linspace(0, len(order) - 1, _ROWS * _COLUMNS).round().astype(int)]
    figure = Figure(figsize=(1.1 * _COLUMNS, 3.0 * _ROWS), layout="constrained")
    for axis, unit in zip(figure.subplots(_ROWS, _COLUMNS).flat, chosen, strict=True):
        weights = filters[unit].astype(np.float64)
        limit = float(np.abs(weights).max()) or 1.0
        axis.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
        axis.axhline(FRAME.joint_position.stop - 0.5, color="black", linewidth=0.6)
        axis.set_xticks([]), axis.set_yticks([])
        axis.set_title(f"unit {unit}", fontsize=7)
    figure.supxlabel(f"time ({WIDTH} frames)", fontsize=9)
    figure.supylabel("degrees of freedom", fontsize=9)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=_RESOLUTION, format="png")
    make_folder(path.parent)
    write_whole(path, drawn.getbuffer())
