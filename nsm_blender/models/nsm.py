# SPDX-License-Identifier: GPL-3.0-or-later
"""Neural State Machine for Character-Scene Interactions (Starke et al. 2019), the network.

The same functions run on NumPy arrays and torch tensors. Features are in the root frame: origin at the
root on the ground, x to the character's left, y backward (the character faces -y), z up; metres, seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import array_api_compat
import numpy as np

from ..errors import WeightsError
from ..motion.skeleton import MODEL_SKELETON
from .contract import Float32, Product, padded_rows, side_by_side, strips
from .layout import Layout
from .pfnn import IntArray, elu
from .weights import check_shapes, file_hash, read_card, read_tensors

JOINTS = len(MODEL_SKELETON)
SAMPLES = 13
"""t = 13 trajectory samples (3.1), every tenth frame at 60 fps from -1 s to +1 s."""
CURRENT = 6
"""Index of the sample at the current frame."""
FUTURE = SAMPLES - CURRENT - 1
"""t' = 6 samples after the current one."""
SAMPLE_FRAMES = 10
FPS = 60.0

ACTIONS = ("idle", "walk", "run", "sit", "open", "carry", "climb")
"""Action labels; several may hold at once (carry and walk)."""
GOAL_ACTIONS = ACTIONS[:6]
"""What a goal may ask for: climbing is launched by the geometry (3.1)."""
CONTACTS = ("LeftFoot", "RightFoot", "LeftHand", "RightHand", "Hips")
"""Key joints with a contact label."""

CELLS = 8
"""The interaction volume has 8 x 8 x 8 cells."""
ENVIRONMENT_SPHERES = (4, 22, 16)
"""Spheres along the radius, the arc and the height: R / r = 7, H / r = 16 (4.3)."""

FRAME = Layout(
    joint_position=(JOINTS, 3),
    joint_rotation=(JOINTS, 2, 3),  # forward and up axis
    joint_velocity=(JOINTS, 3),
    trajectory_position=(SAMPLES, 2),
    trajectory_direction=(SAMPLES, 2),
    trajectory_action=(SAMPLES, len(ACTIONS)),
)
"""F_i: the character in the previous frame, in the previous root frame."""

GOAL = Layout(position=(SAMPLES, 3), direction=(SAMPLES, 2), action=(SAMPLES, len(GOAL_ACTIONS)))
"""G_i: where to be and what to do there, in the previous root frame."""

INTERACTION = Layout(cell=(CELLS**3, 4))
"""I_i: of each cell the vector from its centre to the body's root, in the root frame, and its occupancy. The paper
calls it 512-dimensional and each cell a vector of four; all 2048 numbers are fed."""
TO_ROOT, OCCUPANCY = slice(0, 3), 3
"""Places in a cell's vector."""

ENVIRONMENT = Layout(occupancy=ENVIRONMENT_SPHERES)
"""E_i: the spheres of the cylinder about the root."""

OUTPUT = Layout(
    joint_position=(JOINTS, 3),
    joint_rotation=(JOINTS, 2, 3),
    joint_velocity=(JOINTS, 3),
    future_joint_position=(JOINTS, 3),  # in the root frame predicted for one second ahead
    trajectory_position=(FUTURE, 2),
    trajectory_direction=(FUTURE, 2),
    trajectory_action=(FUTURE + 1, len(ACTIONS)),  # the current sample too, which nothing else gives
    goal_trajectory_position=(FUTURE, 2),  # the same trajectory in each sample's goal frame
    goal_trajectory_direction=(FUTURE, 2),
    goal_position=(SAMPLES, 3),
    goal_direction=(SAMPLES, 2),
    goal_action=(SAMPLES, len(GOAL_ACTIONS)),
    contact=(len(CONTACTS),),
    phase_change=(1,),  # rad/s
    root_velocity=(2,),  # m/s in the previous root frame; the texts do not say how the root goes on
    root_turn=(1,),  # rad/s about +z
)
"""Y_i, in the root frame of the frame that it describes."""

ENCODERS: Mapping[str, Layout] = {
    "frame": FRAME,
    "goal": GOAL,
    "interaction": INTERACTION,
    "environment": ENVIRONMENT,
}
"""The inputs X = {F, G, I, E} in the order in which their encodings are joined."""

Gating = Literal["kronecker", "concatenation"]
"""How the phase enters the gating network: eq. 5, or side by side as in the ablation of Fig. 12."""

_CONDITION = len(ACTIONS) * SAMPLES + 3 * GOAL.shape("action")[1] * SAMPLES
GATING_SIZES: Mapping[Gating, int] = {"kronecker": 2 * _CONDITION, "concatenation": 2 + _CONDITION}
LAYERS = 3
NEGLIGIBLE = 1e-3
"""An expert with a smaller gate is left out of a prediction."""

_CORNERS = [0, *((CELLS - 1) * CELLS**i for i in (2, 1, 0))]
"""Cells at the near end of the volume, and at the far end along each axis."""
_WEIGHTS = re.compile(r"(^|_)w\d$")
"""Names of the matrices that are multiplied with vectors."""
_ZERO, _ONE = np.zeros((), dtype=np.float32), np.ones((), dtype=np.float32)

Inputs = Mapping[str, Any]
"""Name of an encoder -> its input, normalised, (N, size)."""


def gating_input(frame: Any, goal: Any, phase: Any, gating: Gating = "kronecker") -> Any:
    """The gating network's input (eq. 5 to 7), not normalised.

    frame: (N, FRAME.size), goal: (N, GOAL.size) in natural units, phase: (N,) radians. Distances and angles to the
    goal are taken at each sample. Returns (N, GATING_SIZES[gating]).
    """
    xp = array_api_compat.array_namespace(frame)
    count = frame.shape[0]
    action = xp.reshape(goal[:, GOAL.action], (count, *GOAL.shape("action")))
    position = xp.reshape(goal[:, GOAL.position], (count, *GOAL.shape("position")))
    direction = xp.reshape(goal[:, GOAL.direction], (count, *GOAL.shape("direction")))
    distance = xp.sqrt(position[..., 0] ** 2 + position[..., 1] ** 2)
    # The root frame's own facing is (0, -1); the angle of a direction against it, positive to the left.
    angle = xp.atan2(direction[..., 0], -direction[..., 1])
    condition = xp.concat(
        [
            frame[:, FRAME.trajectory_action],
            xp.reshape(action, (count, -1)),
            xp.reshape(action * distance[..., None], (count, -1)),
            xp.reshape(action * angle[..., None], (count, -1)),
        ],
        axis=1,
    )
    sine, cosine = xp.sin(phase)[:, None], xp.cos(phase)[:, None]
    if gating == "concatenation":
        return xp.concat([sine, cosine, condition], axis=1)
    return xp.concat([sine * condition, cosine * condition], axis=1)


def encode(weights: Mapping[str, Any], name: str, x: Any) -> Any:
    """One encoder of H (eq. 2): three layers, x (N, size) normalised -> (N, h)."""
    h = x
    for layer in range(LAYERS):
        h = elu(h @ weights[f"{name}_w{layer}"].T + weights[f"{name}_b{layer}"])
    return h


def gates(weights: Mapping[str, Any], x: Any) -> Any:
    """omega (eq. 8): x (N, n') normalised -> (N, K), each row summing to one."""
    xp = array_api_compat.array_namespace(x)
    h = elu(x @ weights["gating_w0"].T + weights["gating_b0"])
    h = elu(h @ weights["gating_w1"].T + weights["gating_b1"])
    logits = h @ weights["gating_w2"].T + weights["gating_b2"]
    powers = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def predict(weights: Mapping[str, Any], encoded: Any, omega: Any) -> Any:
    """Theta (eq. 1 and 3) with the experts' outputs blended in each layer, which equals blended weights.

    weights: w0 (K, h, n), b0 (K, h), w1 (K, h, h), b1 (K, h), w2 (K, m, h), b2 (K, m). encoded: (N, n).
    omega: (N, K). Returns (N, m), normalised.
    """
    h = encoded
    for layer in range(LAYERS):
        h = _blended(weights[f"w{layer}"], weights[f"b{layer}"], h, omega)
        if layer < LAYERS - 1:
            h = elu(h)
    return h


def forward(weights: Mapping[str, Any], inputs: Inputs, gating: Any) -> Any:
    """The literal network: normalised inputs by encoder and gating (N, n') -> (N, OUTPUT.size), normalised."""
    xp = array_api_compat.array_namespace(gating)
    encoded = xp.concat([encode(weights, name, inputs[name]) for name in ENCODERS], axis=1)
    return predict(weights, encoded, gates(weights, gating))


def _blended(w: Any, b: Any, h: Any, omega: Any) -> Any:
    xp = array_api_compat.array_namespace(h)
    experts, rows, columns = w.shape
    omega = xp.astype(omega, h.dtype)
    # One product for all experts, and one that blends them.
    outputs = xp.reshape(h @ xp.reshape(w, (experts * rows, columns)).T, (h.shape[0], experts, rows))
    return (omega[:, None, :] @ outputs)[:, 0] + omega @ b


def shapes(gating: Gating = "kronecker") -> dict[str, tuple[int | str, ...]]:
    """Tensors of a weights file: encoders, gating network, experts, normalisation."""
    out: dict[str, tuple[int | str, ...]] = {}
    for name, layout in ENCODERS.items():
        own = f"h_{name}"
        for layer in range(LAYERS):
            out[f"{name}_w{layer}"] = (own, layout.size if layer == 0 else own)
            out[f"{name}_b{layer}"] = (own,)
        out[f"{name}_mean"] = out[f"{name}_scale"] = (layout.size,)
    size = GATING_SIZES[gating]
    out |= {
        "gating_w0": ("h'", size),
        "gating_b0": ("h'",),
        "gating_w1": ("h'", "h'"),
        "gating_b1": ("h'",),
        "gating_w2": ("K", "h'"),
        "gating_b2": ("K",),
        "gating_mean": (size,),
        "gating_scale": (size,),
        "w0": ("K", "h", "n"),
        "b0": ("K", "h"),
        "w1": ("K", "h", "h"),
        "b1": ("K", "h"),
        "w2": ("K", OUTPUT.size, "h"),
        "b2": ("K", OUTPUT.size),
        "output_mean": (OUTPUT.size,),
        "output_scale": (OUTPUT.size,),
    }
    return out


class NSM:
    """A trained network, ready to predict frame after frame for one character.

    A frame is limited by reading the weights from memory: they lie side by side, each layer's experts are multiplied
    at once, experts with a gate below NEGLIGIBLE are not read, the normalisation is folded into the first and last
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
        self._condition = np.empty(_CONDITION, dtype=np.float32)
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
            np.multiply(self._condition, np.float32(sine), out=self._x[:_CONDITION])
            np.multiply(self._condition, np.float32(cosine), out=self._x[_CONDITION:])
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
    np.exp(below, below)
    np.subtract(below, _ONE, below)
    np.maximum(x, below, x)
