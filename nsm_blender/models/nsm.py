# SPDX-License-Identifier: GPL-3.0-or-later
"""Neural State Machine for Character-Scene Interactions (Starke et al. 2019), the network.

The same functions run on NumPy arrays and torch tensors. Features are in the root frame: origin at the
root on the ground, x to the character's left, y backward (the character faces -y), z up; metres, seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import array_api_compat
import numpy as np

from ..errors import WeightsError
from ..motion.skeleton import MODEL_SKELETON
from .contract import Float32, Rows
from .layout import Layout
from .pfnn import elu
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

    A frame is limited by reading the weights from memory: experts with a gate below NEGLIGIBLE are not read, an
    encoding is kept while its input stays the same, the normalisation is folded into the first and last layers, the
    vectors of the interaction volume enter as the twelve numbers that determine them, empty spheres are passed over.

    One object serves one thread and one character, as its buffers and encodings are used again in every frame.

    omega: (K,) gates of the last prediction. card: the model card. hash: of the weights file. output_mean: (m,).
    """

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        self.card = dict(card or {})
        self.hash = hash
        self.gating: Gating = (
            "kronecker" if tensors["gating_w0"].shape[1] == GATING_SIZES["kronecker"] else "concatenation"
        )
        self.output_mean, scale = tensors["output_mean"], tensors["output_scale"]
        self.omega = np.zeros(len(tensors["gating_w2"]), dtype=np.float32)
        self._encoders = [_Encoder(tensors, name) for name in ENCODERS]
        self._gating = [_Dense(*_folded(tensors, "gating"))]
        self._gating += [_Dense(tensors[f"gating_w{i}"], tensors[f"gating_b{i}"]) for i in range(1, LAYERS)]
        layers = [(tensors[f"w{i}"], tensors[f"b{i}"]) for i in range(LAYERS - 1)]
        layers.append((tensors["w2"] * scale[:, None], tensors["b2"] * scale + self.output_mean))
        self._experts = [[_Dense(w[k], b[k]) for k in range(len(w))] for w, b in layers]

    @staticmethod
    def load(path: Path | str) -> NSM:
        """Read a weights file and the card beside it. Raises WeightsError."""
        tensors = read_tensors(path)
        first = tensors.get("gating_w0")
        side_by_side = first is not None and first.shape[-1:] == (GATING_SIZES["concatenation"],)
        sizes = check_shapes(tensors, shapes("concatenation" if side_by_side else "kronecker"), path)
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
        inputs = (frame, goal, interaction, environment)
        h = np.concatenate([encoder.encode(x) for encoder, x in zip(self._encoders, inputs, strict=True)])
        condition = gating_input(frame[None], goal[None], np.array([phase], dtype=np.float32), self.gating)[0]
        self.omega = self._gates(condition)
        active = np.flatnonzero(self.omega >= NEGLIGIBLE)
        shares = self.omega[active] / self.omega[active].sum()
        for layer, experts in enumerate(self._experts):
            h = shares @ np.stack([experts[k](h) for k in active.tolist()])
            if layer < LAYERS - 1:
                h = _elu(h)
        return h

    def _gates(self, condition: Float32) -> Float32:
        h = condition
        for layer, dense in enumerate(self._gating):
            h = dense(h) if layer == LAYERS - 1 else _elu(dense(h))
        powers = np.exp(h - h.max())
        out: Float32 = powers / powers.sum()
        return out


class _Dense:
    """One layer, w (rows, n) and b (rows,), kept ready for products on one thread."""

    def __init__(self, w: Float32, b: Float32) -> None:
        self._rows, self._b = Rows(np.ascontiguousarray(w)), b

    def __call__(self, x: Float32) -> Float32:
        out = np.empty(self._rows.shape, dtype=np.float32)
        self._rows.multiply(self._rows.blocks, x, out)
        result: Float32 = out.reshape(-1)
        result += self._b
        return result


class _Encoder:
    """One encoder, which keeps its last input and result."""

    def __init__(self, tensors: Mapping[str, Float32], name: str) -> None:
        first = _Volume if name == "interaction" else _Sparse if name == "environment" else _Dense
        self._first = first(*_folded(tensors, name))
        self._deep = [_Dense(tensors[f"{name}_w{i}"], tensors[f"{name}_b{i}"]) for i in range(1, LAYERS)]
        self._last: Float32 | None = None
        self._encoded = np.zeros(0, dtype=np.float32)

    def encode(self, x: Float32) -> Float32:
        """(h,) of the input in natural units."""
        if self._last is None or not np.array_equal(x, self._last):
            h = _elu(self._first(x))
            for dense in self._deep:
                h = _elu(dense(h))
            self._last, self._encoded = x.copy(), h
        return self._encoded


class _Sparse:
    """A layer whose input is mostly zeros: only the weights of the others are read."""

    def __init__(self, w: Float32, b: Float32) -> None:
        self._columns, self._b = np.ascontiguousarray(w.T), b

    def __call__(self, x: Float32) -> Float32:
        used = np.flatnonzero(x)
        out: Float32 = self._b + np.einsum("i,ij->j", x[used], self._columns[used])
        return out


class _Volume:
    """The layer over the interaction volume. The vectors of all cells to the root follow from that of the first cell
    and the edges of a cell along the volume's axes: v = v_0 - i e_x - j e_y - k e_z."""

    def __init__(self, w: Float32, b: Float32) -> None:
        cells = w.T.reshape(*INTERACTION.shape("cell"), -1)
        index = np.indices((CELLS,) * 3).reshape(3, -1).astype(np.float32)
        self._corners = [0, *(int(np.flatnonzero(index[a] == CELLS - 1)[0]) for a in range(3))]
        edges = np.einsum("ac,cdh->adh", index, cells[:, TO_ROOT])
        self._vectors = np.concatenate((cells[:, TO_ROOT].sum(0)[None], -edges)).reshape(-1, len(b))
        self._occupancy = _Sparse(cells[:, OCCUPANCY].T, b)

    def __call__(self, x: Float32) -> Float32:
        cells = x.reshape(INTERACTION.shape("cell"))
        vectors = cells[self._corners, TO_ROOT]
        vectors[1:] = (vectors[0] - vectors[1:]) / (CELLS - 1)
        out: Float32 = self._occupancy(cells[:, OCCUPANCY]) + vectors.reshape(-1) @ self._vectors
        return out


def _folded(tensors: Mapping[str, Float32], name: str) -> tuple[Float32, Float32]:
    """A network's first layer, taking natural units."""
    w = tensors[f"{name}_w0"] / tensors[f"{name}_scale"]
    return w, tensors[f"{name}_b0"] - w @ tensors[f"{name}_mean"]


def _elu(x: Float32) -> Float32:
    out: Float32 = np.maximum(x, np.exp(np.minimum(x, 0)) - 1)
    return out
