# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN's prediction frame after frame, as fast as NumPy alone allows; see `models.pfnn`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import WeightsError
from ..motion.gait import GAITS
from ..motion.skeleton import MODEL_SKELETON
from .layout import Layout
from .matmul import Float32, IntArray, Rows, matmul
from .pfnn import CHARACTER_INPUT, CONTROL_POINTS, INPUT, JOINTS, OUTPUT, catmull_rom, input_layout, shapes
from .weights import check_shapes, file_hash, read_card, read_tensors

Mode = Literal["cubic", "linear", "constant"]
"""How the spline over the phase is evaluated (5.2): exactly, or from precomputed tables."""
MODES: tuple[Mode, ...] = ("cubic", "linear", "constant")
"""All modes, the exact one first."""
TABLES: Mapping[Mode, int] = {"cubic": CONTROL_POINTS, "linear": 10, "constant": 50}
"""Number of weight tables that each mode keeps: the control points themselves, or samples of the spline."""
_TOGETHER: Mapping[Mode, int] = {"cubic": 4, "linear": 2, "constant": 1}
"""Number of neighboring tables whose outputs one frame blends."""


class PFNN:
    """A trained network, ready to predict frame after frame.

    A frame is limited by reading the weights from memory. So they are never blended: each layer multiplies
    its input with all the tables it needs in one stacked product and blends the outputs, which is the same
    sum. The normalization is folded into the first and last layer, each bias is a last column of its
    weights, and inputs that no weight uses (features that never varied in training) are left out. Joints that
    lie in one place (the spine's root in the hips, the shoulders' in the neck) share their columns and rows.

    One object serves one thread, as its buffers are used again in every frame.

    rotation_reference: (J, 4) float32 quaternions, the mean rotation of each joint in the root frame, to
    which the predicted joint_rotation is relative. y_mean: (m,) the mean output. card: the model card.
    hash: of the weights file. character: (7,) the value of the performer like whom a character moves that is told no
    other, None of weights without.
    """

    def __init__(
        self,
        tensors: Mapping[str, Float32],
        mode: Mode = "cubic",
        card: Mapping[str, Any] | None = None,
        hash: str = "",
        outputs: IntArray | None = None,
    ) -> None:
        """tensors: as in `SHAPES`, except that inputs and outputs may have any size.

        outputs: (m,) for each output the row of the last layer that gives it; all their own when None.
        """
        self.mode = mode
        self.card = dict(card or {})
        self.hash = hash
        self.rotation_reference = tensors["rotation_reference"]
        self.y_mean = tensors["y_mean"]
        self.input_size = len(tensors["x_mean"])
        self.output_size = len(tensors["y_mean"])
        several = self.input_size == CHARACTER_INPUT.size
        self.character = tensors["x_mean"][CHARACTER_INPUT.character] if several else None

        used = np.flatnonzero(np.any(tensors["w0"] != 0, axis=(0, 1)))
        self._used = None if len(used) == self.input_size else used
        self._x_mean = np.ascontiguousarray(tensors["x_mean"][used], dtype=np.float32)
        rows: IntArray | None = None
        self._outputs: IntArray | None = None
        if outputs is not None:
            rows, self._outputs = np.unique(outputs, return_inverse=True)
        self._control_points = _fold(tensors, used, rows)
        self._tables = [_tables(points, mode) for points in self._control_points]

        together = _TOGETHER[mode]
        self._coefficients = np.ones(together, dtype=np.float32)
        self._inputs = [np.ones(tables.shape[2], dtype=np.float32) for tables in self._tables]
        self._products = [np.empty((together, tables.shape[1]), dtype=np.float32) for tables in self._tables]
        self._calls = [self._plan(first) for first in range(len(self._tables[0]) - together + 1)]

    @staticmethod
    def load(path: Path | str, mode: Mode = "cubic") -> PFNN:
        """Read a weights file and the card beside it. Raises WeightsError."""
        tensors = read_tensors(path)
        check_shapes(tensors, shapes(input_layout(tensors["x_mean"].size if "x_mean" in tensors else 0)), path)
        for name in ("x_scale", "y_scale"):
            if not (tensors[name] > 0).all():
                raise WeightsError(f"{path}: the tensor '{name}' holds a scale that is not positive.")
        return PFNN(_without_twins(tensors), mode, read_card(path), file_hash(path), _representatives(OUTPUT))

    @property
    def memory(self) -> int:
        """Bytes of all weight tables of this mode."""
        return sum(tables.nbytes for tables in self._tables)

    @property
    def memory_per_frame(self) -> int:
        """Bytes of the tables that one frame reads."""
        return sum(tables[: _TOGETHER[self.mode]].nbytes for tables in self._tables)

    def uses(self, inputs: slice) -> bool:
        """Whether any weight listens to these inputs; to the terrain, say."""
        if self._used is None:
            return inputs.start < self.input_size
        return bool(((self._used >= inputs.start) & (self._used < inputs.stop)).any())

    def knows_gait(self, gait: str) -> bool:
        """Whether it was trained on a gait, out of GAITS: no weight listens to one that it never saw."""
        first = INPUT.gait.start + GAITS.index(gait)
        return any(self.uses(slice(k, k + 1)) for k in range(first, INPUT.gait.stop, len(GAITS)))

    def predict(self, x: Float32, phase: float, out: Float32 | None = None) -> Float32:
        """One frame: features x (n,) as in `INPUT`, phase in radians -> features (m,) as in `OUTPUT`.

        Both in their natural units; `out` (m,) float32 is used for the result when given.
        """
        first = self._place(phase)
        np.subtract(x if self._used is None else x[self._used], self._x_mean, out=self._inputs[0][:-1])
        for function, arguments in self._calls[first]:
            function(*arguments)
        if self._outputs is None:
            return np.dot(self._coefficients, self._products[-1], out=out)
        return np.take(np.dot(self._coefficients, self._products[-1]), self._outputs, out=out)

    def _plan(self, first: int) -> list[tuple[Callable[..., object], tuple[Any, ...]]]:
        """The calls of one frame that blends the tables from `first` on, up to the last layer's products.

        Reading the weights empties the caches of everything else, so that each line of Python between two
        layers costs several times what it usually does; hence a list made beforehand.
        """
        zero, one = np.zeros((), dtype=np.float32), np.ones((), dtype=np.float32)
        calls: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        for i, (tables, x, products) in enumerate(zip(self._tables, self._inputs, self._products, strict=True)):
            h = x[:-1]
            if i > 0:  # the blend of the layer below, and elu(h) as the larger of h and exp(min(h, 0)) - 1
                negative = np.empty_like(h)
                calls += [
                    (np.dot, (self._coefficients, self._products[i - 1], h)),
                    (np.minimum, (h, zero, negative)),
                    (np.exp, (negative, negative)),
                    (np.subtract, (negative, one, negative)),
                    (np.maximum, (h, negative, h)),
                ]
            rows = Rows(tables[first : first + len(products)])
            calls.append((rows.multiply, (rows.blocks, x, products.reshape(rows.shape))))
        return calls

    def predict_batch(self, x: Float32, phase: Float32) -> Float32:
        """Many characters at once, exactly (cubic) in every mode: x (N, n), phase (N,) -> (N, m).

        Two characters take hardly longer than one, as the weights are read once.
        """
        count = len(x)
        c = np.empty((CONTROL_POINTS, count), dtype=np.float32)
        for i, p in enumerate(phase):
            _catmull_rom_into(c[:, i], float(p))
        h = np.transpose((x if self._used is None else x[:, self._used]) - self._x_mean)
        for i, points in enumerate(self._control_points):
            column = np.ones((points.shape[2], count), dtype=np.float32)
            column[:-1] = np.maximum(h, np.exp(np.minimum(h, 0)) - 1) if i else h
            products = matmul(points.reshape(-1, points.shape[2]), column).reshape(CONTROL_POINTS, -1, count)
            h = np.einsum("krn,kn->rn", products, c)
        return np.ascontiguousarray(h.T if self._outputs is None else h[self._outputs].T)

    def _place(self, phase: float) -> int:
        """Set the coefficients of the neighboring tables; returns the first of them."""
        if self.mode == "cubic":
            _catmull_rom_into(self._coefficients, phase)
            return 0
        count = TABLES[self.mode]
        position = float(phase) * (count / (2 * math.pi))
        if self.mode == "constant":
            return round(position) % count
        first = math.floor(position)
        self._coefficients[1] = position - first
        self._coefficients[0] = 1 - (position - first)
        return first % count


def _catmull_rom_into(c: Float32, phase: float) -> None:
    """`catmull_rom` for one phase, into c (4,), in a microsecond."""
    position = float(phase) * (CONTROL_POINTS / (2 * math.pi))
    k1 = math.floor(position)
    w = position - k1
    c[(k1 - 1) % 4] = w * (w * (1 - 0.5 * w) - 0.5)
    c[k1 % 4] = 1 + w * w * (1.5 * w - 2.5)
    c[(k1 + 1) % 4] = w * (0.5 + w * (2 - 1.5 * w))
    c[(k1 + 2) % 4] = w * w * (0.5 * w - 0.5)


def _representatives(layout: Layout) -> IntArray:
    """For each feature (size,) the index of the one that it always equals: places of joints that coincide."""
    out = np.arange(layout.size)
    offsets, parents = MODEL_SKELETON.offsets, MODEL_SKELETON.parents
    same = list(range(JOINTS))
    for j in range(1, JOINTS):
        if not offsets[j].any():
            same[j] = same[parents[j]]
        else:
            same[j] = next(i for i in range(1, j + 1) if parents[i] == parents[j] and (offsets[i] == offsets[j]).all())
    for name in ("joint_position", "joint_velocity"):
        index = out[getattr(layout, name)].reshape(JOINTS, 3)
        out[getattr(layout, name)] = index[same].ravel()
    return out


def _without_twins(tensors: Mapping[str, Float32]) -> dict[str, Float32]:
    """The tensors with the first layer's weights of coinciding joints gathered at one of them, the others' zero."""
    w0, b0 = tensors["w0"].copy(), tensors["b0"].copy()
    w0[:, :, : INPUT.size] = 0
    mean, scale = tensors["x_mean"], tensors["x_scale"]
    for i, representative in enumerate(_representatives(INPUT)):
        column = tensors["w0"][:, :, i] / scale[i]
        w0[:, :, representative] += column * scale[representative]
        b0 += column * (mean[representative] - mean[i])
    return {**tensors, "w0": w0, "b0": b0}


def _fold(tensors: Mapping[str, Float32], used: IntArray, rows: IntArray | None) -> list[Float32]:
    """The control points of each layer, (4, outputs, inputs + 1), with the scales folded in.

    used: inputs that are kept. rows: outputs that are kept, all when None.
    """
    y_scale, y_mean = tensors["y_scale"], tensors["y_mean"]
    weights = (tensors["w0"][:, :, used] / tensors["x_scale"][used], tensors["w1"], tensors["w2"] * y_scale[:, None])
    biases = (tensors["b0"], tensors["b1"], tensors["b2"] * y_scale + y_mean)
    if rows is not None:
        weights = (*weights[:2], weights[2][:, rows])
        biases = (*biases[:2], biases[2][:, rows])
    return [
        np.concatenate((w, b[:, :, None]), axis=2).astype(np.float32, order="C")
        for w, b in zip(weights, biases, strict=True)
    ]


def _tables(control_points: Float32, mode: Mode) -> Float32:
    """Samples (K, outputs, inputs) of the spline at equal steps of the phase; linear repeats the first."""
    if mode == "cubic":
        return control_points
    count = TABLES[mode]
    steps = np.arange(count + _TOGETHER[mode] - 1) % count
    c = catmull_rom(steps.astype(np.float32) * np.float32(2 * np.pi / count))
    flat = matmul(c, control_points.reshape(CONTROL_POINTS, -1))
    return flat.reshape(len(steps), *control_points.shape[1:])
