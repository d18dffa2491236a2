# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifold against one without max pooling and dropout (Holden et al. 2016, section 8; Fig. 4, 11 and 12).

Both are trained on the same clips, and measured on performers that neither saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import UserError
from ..evaluation.bench_manifold import Figures
from ..evaluation.filters import read_filters, temporal_correlation
from ..evaluation.manifold import Log, tell
from ..manifold.frames import joint_places
from ..manifold.style import Restyle, Style, StyleSettings
from ..models.manifold import FPS, FRAME, SHAPES, UNITS, WIDTH, Autoencoder, Float32
from ..models.matmul import convolve
from ..models.synthesis import FEED_FORWARD_SHAPES
from ..models.weights import check_shapes, file_hash, read_card, read_tensors
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .held_out import CURVE_SMOOTHING, HeldOut, reconstruction
from .styles import STYLES, build
from .synthesis import make_frames
from .synthesis_data import Walk, locomotion_clips, walks

_STYLES = ("zombie", "depressed", "old", "injured")
"""Styles that Fig. 9 shows."""
_STYLE_FRAMES = 480
"""Frames of a motion that takes on a style: 8 s, as in Table 1."""
_STYLED_WALKS = 4
"""Walks that take on each style."""
_HIGH = 8.0
"""Frequency in Hz above which a hand or the spine of a walking person hardly moves."""
_BORDER = WIDTH // 2
"""Frames at both ends of a motion that are not measured, since filters reach beyond it."""
Start = Literal["content", "noise"]
_STARTS: Mapping[Start, str] = {"content": "style", "noise": "style_from_noise"}
_SPINE, _HANDS = ("Spine2",), ("LeftHand", "RightHand")


class WithoutPooling(Autoencoder):
    """The autoencoder without pooling: hidden units of every frame."""

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        super().__init__(tensors, card, hash)
        w = tensors["w"]
        self._filters = np.ascontiguousarray(w.transpose(2, 1, 0).reshape(WIDTH * FRAME.size, UNITS))
        self._reflected = np.ascontiguousarray(w[:, :, ::-1].transpose(2, 0, 1).reshape(WIDTH * UNITS, FRAME.size))

    def encode(self, x: Float32) -> Float32:
        """Hidden units (T, UNITS), never negative, of frames x (T, d) in physical units."""
        normal = ((x - self.mean) / self.scale).astype(np.float32)
        hidden: Float32 = np.maximum(convolve(normal, self._filters, WIDTH // 2) + self._b, 0)
        return hidden

    def decode(self, hidden: Float32) -> Float32:
        """Frames (T, d) in physical units of hidden units (T, UNITS)."""
        return convolve(hidden, self._reflected, WIDTH // 2) * self.scale + self.offset(len(hidden))


def compare(folder: Path, plain: Path, held_out: HeldOut, log: Log = print) -> Figures:
    """manifold.ablation.{pooled,plain}.<figure> of the weights in two folders, and the same of the recordings.

    reconstruction_cm: as `manifold.reconstruction.held_out.mean_cm`. filter_correlation: of the filters' weights
    with those one frame later (Fig. 3 and 4). style.hand_high_frequency_mm and
    style_from_noise.hand_high_frequency_mm: of the hands' heights in walks that take on styles, starting from the
    walk or from white noise (Fig. 11). synthesis.spine_high_frequency_mm, synthesis.hand_high_frequency_mm and
    synthesis.error_cm: of walks made from held-out trajectories and contacts (Fig. 12). High frequency is the root
    of the mean square of what is above 8 Hz. Raises UserError.
    """
    pooled, simple = (
        _read(path / "autoencoder.safetensors", kind, pooling)
        for path, kind, pooling in ((folder, Autoencoder, True), (plain, WithoutPooling, False))
    )
    recorded = walks(locomotion_clips(held_out.data, held_out.subjects, held_out=True), (False,))
    contents = [w.frames[:_STYLE_FRAMES] for w in recorded if len(w.frames) >= _STYLE_FRAMES][:_STYLED_WALKS]
    if not contents:
        raise UserError(f"{held_out.data} has no locomotion clip of {_STYLE_FRAMES} frames of a held-out performer.")
    out = {
        "recorded.style.hand_high_frequency_mm": _mean_of(contents, _HANDS),
        "recorded.synthesis.hand_high_frequency_mm": _mean_of([w.frames for w in recorded], _HANDS),
        "recorded.synthesis.spine_high_frequency_mm": _mean_of([w.frames for w in recorded], _SPINE),
    }
    styles = {name: STYLES[name] for name in _STYLES}
    for name, network, path in (("pooled", pooled, folder), ("plain", simple, plain)):
        error = reconstruction(network, held_out, lambda _: None)["manifold.reconstruction.held_out.mean_cm"]
        out[f"{name}.reconstruction_cm"] = error
        out[f"{name}.filter_correlation"] = temporal_correlation(read_filters(path / "autoencoder.safetensors"))
        references = build(held_out.data, network, styles)
        for start, figure in _STARTS.items():
            styled = [_styled(network, c, style, start) for style in references for c in contents]
            out[f"{name}.{figure}.hand_high_frequency_mm"] = _mean_of(styled, _HANDS)
        for figure, value in _synthesis(path, recorded, pooling=network is pooled).items():
            out[f"{name}.synthesis.{figure}"] = value
    figures = {f"manifold.ablation.{name}": value for name, value in out.items()}
    tell(figures, log)
    return figures


def high_frequency(heights: Array) -> float:
    """Root of the mean square, in mm, of what is above _HIGH in heights (T,), meters at 60 fps."""
    window = np.hanning(len(heights))
    spectrum = np.fft.rfft((heights - heights.mean()) * window)
    above = np.fft.rfftfreq(len(heights), 1 / FPS) > _HIGH
    power = 2 * np.square(np.abs(spectrum[above])).sum() / (len(heights) * np.square(window).sum())
    return float(1000 * np.sqrt(power))


def _read(path: Path, kind: type[Autoencoder], pooling: bool) -> Autoencoder:
    tensors = read_tensors(path)
    check_shapes(tensors, SHAPES, path)
    card = read_card(path)
    if any(stage.get("pooling", True) != pooling for stage in card.get("training", {}).get("stages", [])):
        raise UserError(f"{path}: trained {'without' if pooling else 'with'} pooling; give the other folder.")
    return kind(tensors, card, file_hash(path))


def _styled(network: Autoencoder, content: Array, style: Style, start: Start) -> Array:
    """Frames of `content` in a style."""
    restyle = Restyle(network, content.astype(np.float32), style, StyleSettings(start=start))
    while not restyle.done:
        restyle.step()
    return restyle.frames


def _synthesis(folder: Path, recorded: Sequence[Walk], pooling: bool) -> Figures:
    """Walks (T, d) as the feed-forward network of a folder makes them of recorded trajectories and contacts."""
    network = read_tensors(folder / "locomotion.safetensors")
    check_shapes(network, FEED_FORWARD_SHAPES, folder / "locomotion.safetensors")
    autoencoder = read_tensors(folder / "autoencoder.safetensors")
    made, errors = [], []
    for walk in recorded:
        inputs = np.concatenate((walk.trajectory(CURVE_SMOOTHING), walk.frames[:, FRAME.contact]), axis=1)
        frames = make_frames(network, autoencoder, inputs[: len(inputs) // 2 * 2], pooling)
        errors.append(np.linalg.norm(joint_places(frames) - joint_places(walk.frames[: len(frames)]), axis=-1))
        made.append(frames)
    return {
        "error_cm": 100 * float(np.concatenate(errors).mean()),
        "hand_high_frequency_mm": _mean_of(made, _HANDS),
        "spine_high_frequency_mm": _mean_of(made, _SPINE),
    }


def _mean_of(motions: Sequence[Array], joints: Sequence[str]) -> float:
    """Mean high frequency in mm of the heights of joints in frames (T, d), without the borders."""
    indices = MODEL_SKELETON.indices(joints)
    heights = [joint_places(frames)[_BORDER:-_BORDER, j, 2] for frames in motions for j in indices]
    return float(np.mean([high_frequency(h) for h in heights]))
