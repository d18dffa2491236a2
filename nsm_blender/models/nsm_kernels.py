# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's prediction for one character, frame after frame, as fast as NumPy alone allows; see `models.nsm`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import WeightsError
from .layout import Layout
from .matmul import Float32, IntArray, Product, padded_rows, side_by_side, strips
from .nsm import (
    CELLS,
    CONDITION_SIZE,
    ENCODERS,
    FRAME,
    GATING_SIZES,
    GOAL,
    INTERACTION,
    LAYERS,
    OCCUPANCY,
    SAMPLES,
    TO_ROOT,
    Gating,
    shapes,
)
from .weights import check_shapes, file_hash, read_card, read_tensors

NEGLIGIBLE = 1e-3
"""Gate below which an expert is left out of a prediction."""

_CORNERS = [0, *((CELLS - 1) * CELLS**i for i in (2, 1, 0))]
"""Cells at the near end of the volume, and at the far end along each axis."""
_WEIGHTS = re.compile(r"(^|_)w\d$")
"""Names of the matrices that are multiplied with vectors."""
_ZERO, _ONE = np.zeros((), dtype=np.float32), np.ones((), dtype=np.float32)
"""Numbers of float32, so that in-place operations convert nothing."""


class NSM:
    """A trained network, ready to predict frame after frame for one character.

    A frame is limited by reading the weights from memory: they lie side by side, each layer's experts are multiplied
    at once, experts with a gate below NEGLIGIBLE are not read, the normalization is folded into the first and last
    layers, the vectors of the interaction volume enter as the twelve numbers that determine them, empty spheres are
    passed over.

    One object serves one thread, as its buffers are used again in every frame.

    omega: (K,) gates of the last prediction. card: the model card. hash: of the weights file. output_mean: (m,).
    """

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        self.card = dict(card or {})
        self.hash = hash
        self.gating: Gating = (
            "kronecker" if tensors["gating_w0"].shape[1] == GATING_SIZES["kronecker"] else "concatenation"
        )
        self.output_mean = tensors["output_mean"]
        self.omega = np.zeros(len(tensors["gating_w2"]), dtype=np.float32)
        ready = side_by_side(_ready(tensors))
        self._encoders = _Encoders(ready)
        self._gates = _Gates(ready, self.gating)
        self._experts = [_Experts(ready[f"w{i}"], ready[f"b{i}"], tensors[f"b{i}"].shape[1]) for i in range(LAYERS)]

    @staticmethod
    def load(path: Path | str) -> NSM:
        """Read a weights file and the card beside it. Raises WeightsError."""
        tensors = read_tensors(path)
        first = tensors.get("gating_w0")
        joined = first is not None and first.shape[-1:] == (GATING_SIZES["concatenation"],)
        sizes = check_shapes(tensors, shapes("concatenation" if joined else "kronecker"), path)
        if sizes["n"] != sum(sizes[f"h_{name}"] for name in ENCODERS):
            raise WeightsError(f"{path}: the experts do not take what the encoders give; train the weights again.")
        for name in (*ENCODERS, "gating", "output"):
            if not (tensors[f"{name}_scale"] > 0).all():
                raise WeightsError(f"{path}: the tensor '{name}_scale' holds a scale that is not positive.")
        return NSM(tensors, read_card(path), file_hash(path))

    def predict(
        self, frame: Float32, goal: Float32, interaction: Float32, environment: Float32, phase: float
    ) -> Float32:
        """The next frame, as OUTPUT, from FRAME, GOAL, INTERACTION and ENVIRONMENT in natural units, float32, and the
        phase in radians."""
        self.omega = self._gates(frame, goal, phase)
        active = (self.omega >= NEGLIGIBLE).nonzero()[0]
        shares = self.omega[active]
        shares /= shares.sum()
        h = self._encoders(frame, goal, interaction, environment)
        for layer, experts in enumerate(self._experts):
            h = experts(h, active, shares)
            if layer < LAYERS - 1:
                _elu(h)
        return h

    def begun(self) -> NSM:
        """The network for another character: it remembers nothing of one."""
        return self

    def fork(self) -> NSM:
        """The network for a copy of its character."""
        return self


def _ready(tensors: Mapping[str, Float32]) -> dict[str, Float32]:
    """All that a prediction reads, as it reads it: for inputs and outputs in natural units."""
    out = {name: value for name, value in tensors.items() if not name.endswith(("_mean", "_scale"))}
    for name in (*ENCODERS, "gating"):
        out[f"{name}_w0"] = tensors[f"{name}_w0"] / tensors[f"{name}_scale"]
        out[f"{name}_b0"] = out[f"{name}_b0"] - out[f"{name}_w0"] @ tensors[f"{name}_mean"]
    scale = tensors["output_scale"]
    out["w2"], out["b2"] = out["w2"] * scale[:, None], out["b2"] * scale + tensors["output_mean"]
    for layer in range(LAYERS):
        w, b = out[f"w{layer}"], out[f"b{layer}"]
        more = padded_rows(*w.shape[1:]) - w.shape[1]
        out[f"w{layer}"] = np.pad(w, ((0, 0), (0, more), (0, 0)))
        out[f"b{layer}"] = np.pad(b, ((0, 0), (0, more)))
    out["interaction_w0"] = _of_volume(out["interaction_w0"])
    columns = {"environment_w0": out.pop("environment_w0").T}
    return columns | {name: strips(value) if _WEIGHTS.search(name) else value for name, value in out.items()}


def _of_volume(w: Float32) -> Float32:
    """Weights (h, cells * 4) of the interaction volume -> (h, cells + 12), of the occupancies, of the first cell's
    vector to the root and of the edges of a cell along the volume's axes: v = v_0 - i e_x - j e_y - k e_z."""
    cells = w.reshape(-1, *INTERACTION.shape("cell"))
    index = np.indices((CELLS,) * 3, dtype=np.float32).reshape(3, -1)
    edges = np.einsum("ac,hcd->had", -index / (CELLS - 1), cells[:, :, TO_ROOT])
    vectors = np.concatenate((cells[:, :, TO_ROOT].sum(1)[:, None], edges), axis=1)
    return np.concatenate((cells[:, :, OCCUPANCY], vectors.reshape(len(w), -1)), axis=1)


class _Encoders:
    """All encoders (eq. 2), layer by layer, into one vector."""

    def __init__(self, ready: Mapping[str, Float32]) -> None:
        self._b = [np.concatenate([ready[f"{name}_b{i}"] for name in ENCODERS]) for i in range(LAYERS)]
        self._h = [np.empty_like(b) for b in self._b]
        parts = Layout(**{name: ready[f"{name}_b0"].shape for name in ENCODERS})
        first = self._h[0]
        self._frame = Product(ready["frame_w0"], first[parts.frame])
        self._goal = Product(ready["goal_w0"], first[parts.goal])
        self._interaction = _Volume(ready["interaction_w0"], first[parts.interaction])
        self._environment = _Sparse(ready["environment_w0"], first[parts.environment])
        self._deep = [
            [
                (
                    Product(ready[f"{name}_w{i}"], self._h[i][getattr(parts, name)]),
                    self._h[i - 1][getattr(parts, name)],
                )
                for name in ENCODERS
            ]
            for i in range(1, LAYERS)
        ]

    def __call__(self, frame: Float32, goal: Float32, interaction: Float32, environment: Float32) -> Float32:
        """(n,), good until the next call, of the inputs in natural units."""
        self._frame(frame)
        self._goal(goal)
        self._interaction(interaction)
        self._environment(environment)
        for layer, (h, b) in enumerate(zip(self._h, self._b, strict=True)):
            for product, below in self._deep[layer - 1] if layer else ():
                product(below)
            h += b
            _elu(h)
        return self._h[-1]


class _Gates:
    """The gating network (eq. 5 to 8) for one frame."""

    def __init__(self, ready: Mapping[str, Float32], gating: Gating) -> None:
        self._gating = gating
        self._condition = np.empty(CONDITION_SIZE, dtype=np.float32)
        labels = GOAL.shape("action")
        # What `gating_input` joins: the frame's labels, the goal's, times the distance, and times the angle.
        self._labels = self._condition[: -3 * SAMPLES * labels[1]]
        self._asked = self._condition[len(self._labels) :].reshape(3, *labels)
        self._x = np.empty(GATING_SIZES[gating], dtype=np.float32)
        self._h = [np.empty(len(ready[f"gating_b{i}"]), dtype=np.float32) for i in range(LAYERS)]
        self._b = [ready[f"gating_b{i}"] for i in range(LAYERS)]
        self._products = [Product(ready[f"gating_w{i}"], h) for i, h in enumerate(self._h)]

    def __call__(self, frame: Float32, goal: Float32, phase: float) -> Float32:
        """omega (K,) of a frame and a goal in natural units."""
        x = self._input(frame, goal, phase)
        for layer, (product, h, b) in enumerate(zip(self._products, self._h, self._b, strict=True)):
            product(x)
            h += b
            if layer < LAYERS - 1:
                _elu(h)
            x = h
        powers = np.exp(x - x.max())
        powers /= powers.sum()
        return powers

    def _input(self, frame: Float32, goal: Float32, phase: float) -> Float32:
        """`gating_input` of one frame, in a buffer."""
        self._labels[:] = frame[FRAME.trajectory_action]
        action, by_distance, by_angle = self._asked
        action[:] = goal[GOAL.action].reshape(action.shape)
        position = goal[GOAL.position].reshape(GOAL.shape("position"))
        heading = goal[GOAL.direction].reshape(GOAL.shape("direction"))
        np.multiply(action, np.hypot(position[:, :1], position[:, 1:2]), out=by_distance)
        np.multiply(action, np.arctan2(heading[:, :1], -heading[:, 1:]), out=by_angle)
        sine, cosine = math.sin(phase), math.cos(phase)
        if self._gating == "concatenation":
            self._x[:2] = sine, cosine
            self._x[2:] = self._condition
        else:
            np.multiply(self._condition, np.float32(sine), out=self._x[:CONDITION_SIZE])
            np.multiply(self._condition, np.float32(cosine), out=self._x[CONDITION_SIZE:])
        return self._x


class _Experts:
    """One layer of all experts, w (K, padded, n) as strips, and b (K, padded), of which the first `rows` count."""

    def __init__(self, w: Float32, b: Float32, rows: int) -> None:
        self._rows = rows
        self._out, self._b = np.empty_like(b), b
        self._all = Product(w, self._out)
        self._each = [Product(*expert) for expert in zip(w, self._out, strict=True)]

    def __call__(self, h: Float32, active: IntArray, shares: Float32) -> Float32:
        """(rows,), what the active ones give, blended by their shares."""
        outputs, b = self._out, self._b
        if len(active) == len(b):
            self._all(h)
        else:
            for k in active.tolist():
                self._each[k](h)
            outputs, b = outputs[active], b[active]
        out: Float32 = shares @ outputs
        out += shares @ b
        return out[: self._rows]


class _Sparse:
    """The product with an input that is mostly zeros, into `out` (rows,): only the weights of the others are read.
    columns: (n, rows)."""

    def __init__(self, columns: Float32, out: Float32) -> None:
        self._columns, self._out = columns, out

    def __call__(self, x: Float32) -> None:
        used = (x != 0).nonzero()[0]
        np.einsum("i,ij->j", x[used], self._columns.take(used, 0), out=self._out)


class _Volume:
    """The product with the interaction volume, into `out` (rows,). w: strips of what `_of_volume` gives."""

    def __init__(self, w: Float32, out: Float32) -> None:
        count = INTERACTION.shape("cell")[0] + 3 * len(_CORNERS)
        self._product, self._x = Product(w, out), np.empty(count, dtype=np.float32)

    def __call__(self, x: Float32) -> None:
        cells = x.reshape(INTERACTION.shape("cell"))
        self._x[: len(cells)] = cells[:, OCCUPANCY]
        first, *ends = cells[_CORNERS, TO_ROOT]
        self._x[len(cells) :] = np.concatenate((first, *(first - end for end in ends)))
        self._product(self._x)


def _elu(x: Float32) -> None:
    """elu(x), in place, as the larger of x and exp(min(x, 0)) - 1."""
    below = np.minimum(x, _ZERO)
    np.exp(below, out=below)
    np.subtract(below, _ONE, out=below)
    np.maximum(x, below, out=x)
