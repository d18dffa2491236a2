# SPDX-License-Identifier: GPL-3.0-or-later
"""Style of a motion as the Gram matrix of its hidden units, and its transfer (section 7.2 of Holden et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import EditError, FileFormatError, WeightsError
from ..files import ArraySpec, Where, Within, read_arrays, record, write_arrays
from ..models.manifold import UNITS, Autoencoder, Float32
from ..models.matmul import matmul
from ..models.weights import card_path, read_card, read_tensors
from ..paths import weights_folder
from ..stepwise import Stepwise
from .lbfgs import Lbfgs
from .tempo import Tempo, mixed

_TRIANGLE = np.triu_indices(UNITS)
"""Indices of the upper triangle of a Gram matrix."""
_MARGIN = 24
"""Frames of the motion, mirrored in time, that are put before and after it for the restyling: without them the encoder
would see a mean pose at the ends."""
_STEADY = 10.0
"""Weight of changes of the hidden units in time relative to that of the content: a Gram matrix sums over time, and
units that flicker match it as well. Only the difference to the content is held steady."""
_ARRAYS = {
    "name": ArraySpec("U", ()),
    "gram": ArraySpec("f", _TRIANGLE[0].shape),
    "source": ArraySpec("U", ()),
    "licence": ArraySpec("U", ()),
    "autoencoder": ArraySpec("U", ()),
    "tempo": ArraySpec("f", (2,), needed=False),
}
"""Arrays of a style file."""


@dataclass(frozen=True, eq=False)
class Style:
    """The style of a motion: its manner apart from its content.

    gram: (UNITS, UNITS) float32, mean over time of the products of hidden units (eq. 15). source: the motion of the
    style; licence: of that motion. autoencoder: hash of the weights in whose units it is. tempo: of that motion, which
    a Gram matrix does not contain.
    """

    name: str
    gram: Float32
    source: str = ""
    licence: str = ""
    autoencoder: str = ""
    tempo: Tempo = field(default_factory=Tempo)

    @staticmethod
    def of(name: str, autoencoder: Autoencoder, frames: Float32, source: str = "", licence: str = "") -> Style:
        """Compute the style of frames (T, FRAME.size) at 60 fps, T even."""
        return Style(name, gram_matrix(autoencoder.encode(frames)), source, licence, autoencoder.hash, Tempo.of(frames))

    def save(self, path: Path | str) -> None:
        """Write the style as an .npz file of about 64 KB that needs no pickle to read. Raises UserError."""
        arrays = {
            "name": np.array(self.name),
            "gram": triangle(self.gram),
            "source": np.array(self.source),
            "licence": np.array(self.licence),
            "autoencoder": np.array(self.autoencoder),
            "tempo": np.array([self.tempo.speed, self.tempo.cadence], dtype=np.float32),
        }
        write_arrays(path, arrays, packed=False)

    @staticmethod
    def load(path: Path | str) -> Style:
        """Read a style written by `save`. Raises FileFormatError."""
        z = read_arrays(path, "a style file", _ARRAYS)
        texts = {name: str(z[name]) for name in ("name", "source", "licence", "autoencoder")}
        try:
            return Style(gram=from_triangle(z["gram"]), tempo=_tempo(z.get("tempo", ())), **texts)
        except ValueError as error:
            raise FileFormatError(f"{path}: cannot be read as a style file ({error})") from error


def load_styles(path: Path | str) -> dict[str, Style]:
    """Read the bundled styles by name from a weights file and its card. Raises WeightsError."""
    card = read_card(path)
    where = Where(str(card_path(path)), WeightsError)
    of_all = record(_Card, card, where, more=True)
    styles = {}
    for name, values in read_tensors(path).items():
        try:
            gram = from_triangle(values)
        except ValueError as error:
            raise WeightsError(f"{path}: the style '{name}' is damaged; install the extension again.") from error
        told = record(_About, of_all.styles.get(name, {}), where.at("styles").at(name), more=True)
        tempo = Tempo(told.speed, told.cadence)
        styles[name] = Style(name, gram, told.source, told.licence, of_all.autoencoder, tempo)
    return styles


@dataclass
class _Card:
    """What the styles' card tells of all of them."""

    autoencoder: str = ""
    styles: dict[str, Any] = field(default_factory=dict)


@dataclass
class _About:
    """What the styles' card tells of each."""

    source: str = ""
    licence: str = ""
    speed: Annotated[float, Within(0, 100, "m/s")] = 0.0
    cadence: Annotated[float, Within(0, 100, "Hz")] = 0.0


def bundled(name: str) -> Style:
    """Read a bundled style. Raises WeightsError or EditError."""
    styles = load_styles(weights_folder() / "styles.safetensors")
    if name not in styles:
        raise EditError(f"There is no bundled style '{name}'; there are {', '.join(sorted(styles))}.")
    return styles[name]


def _tempo(values: Any) -> Tempo:
    """The tempo in a style file; none in files of older versions. Raises ValueError."""
    if not len(values):
        return Tempo()
    speed, cadence = (float(value) for value in values)
    if not (0 <= speed < np.inf and 0 <= cadence < np.inf):
        raise ValueError("its tempo is no speed and cadence")
    return Tempo(speed, cadence)


def triangle(gram: Float32) -> NDArray[np.float16]:
    """The upper triangle of a symmetric matrix as float16."""
    return gram[_TRIANGLE].astype(np.float16)


def from_triangle(values: NDArray[Any]) -> Float32:
    """The symmetric matrix (UNITS, UNITS) of its upper triangle. Raises ValueError."""
    if values.shape != _TRIANGLE[0].shape or not np.isfinite(values).all():
        raise ValueError("its Gram matrix is not one of this model")
    out = np.zeros((UNITS, UNITS), dtype=np.float32)
    out[_TRIANGLE] = values
    return out + np.triu(out, 1).T


def gram_matrix(hidden: Float32) -> Float32:
    """Gram matrix G (eq. 15) of hidden units (n, UNITS): the mean over time of their products."""
    return matmul(np.ascontiguousarray(hidden.T), hidden) / np.float32(len(hidden))


def blend(styles: Sequence[Style], weights: Sequence[float], name: str = "blend") -> Style:
    """Mix styles; weights should sum to 1, and may lie outside 0..1."""
    if len(styles) != len(weights) or not styles:
        raise EditError("A blend of styles needs one weight for each style.")
    if len({style.autoencoder for style in styles}) > 1:
        raise EditError("These styles were made with different weights of the autoencoder and cannot be mixed.")
    gram = sum((np.float32(w) * style.gram for w, style in zip(weights, styles, strict=True)), start=np.float32(0))
    licences = "; ".join(sorted({style.licence for style in styles if style.licence}))
    sources = "; ".join(style.source for style in styles)
    tempo = mixed([style.tempo for style in styles], weights)
    return Style(
        name, nearest_gram(np.asarray(gram, dtype=np.float32)), sources, licences, styles[0].autoencoder, tempo
    )


def nearest_gram(gram: Float32) -> Float32:
    """The nearest Gram matrix to a symmetric matrix: without its negative eigenvalues."""
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    if values[0] >= 0:
        return gram
    return ((vectors * np.maximum(values, 0)) @ vectors.T).astype(np.float32)


@dataclass(frozen=True)
class StyleSettings:
    """Settings of the style transfer.

    style, content: s and c of eq. 14, on costs that are 1 for the unchanged content and for no content at all. amount:
    0 keeps the content's own Gram matrix, 1 takes the style's, more exaggerates the difference. start: white noise as
    in the paper, or the content. seed: of the noise. timing: 0 keeps the content's foot contacts, 1 takes those that
    come with the style; `tempo.retimed` brings speed and cadence before.
    """

    style: float = 1.0
    content: float = 0.03
    amount: float = 1.0
    start: Literal["noise", "content"] = "content"
    seed: int = 0
    timing: float = 0.0


class Restyle:
    """The minimization of eq. 14; `step()` does a piece until `done`, then read `frames`.

    content: (T, FRAME.size) at 60 fps, T even. Hidden units stay at 0 or above, as those of the encoder: the decoder
    was never trained on others, and without the bound mirrored signs match a Gram matrix as well.
    """

    def __init__(self, autoencoder: Autoencoder, content: Float32, style: Style, settings: StyleSettings) -> None:
        if style.autoencoder and autoencoder.hash and style.autoencoder != autoencoder.hash:
            raise EditError(f"The style '{style.name}' was made with other weights; take it from its motion again.")
        if settings.amount < 0 or settings.style < 0 or settings.content < 0:
            raise EditError("The weights and the amount of a style must be 0 or more.")
        if not 0 <= settings.timing <= 1:
            raise EditError(f"The share of the style's own timing is {settings.timing}; it must be between 0 and 1.")
        self._autoencoder, self._settings, self._style = autoencoder, settings, style
        self.frames = content
        """Frames (T, FRAME.size) of the hidden units that were found."""
        self._search: Lbfgs | None = None
        self._work = self._run(content)
        self.done = False
        """Whether the minimization has converged."""

    def _run(self, content: Float32) -> Iterator[None]:
        settings = self._settings
        self._content = yield from self._encoded(content)
        own = gram_matrix(self._content)
        yield
        self._gram = nearest_gram(own + np.float32(settings.amount) * (self._style.gram - own))
        self._distance = max(float(np.linalg.norm(self._gram - own)), 1e-9)
        self._style_scale = settings.style / self._distance**2
        self._content_scale = settings.content / max(float(np.vdot(self._content, self._content)), 1e-9)
        start = self._content
        if settings.start == "noise":
            noise = np.random.default_rng(settings.seed).standard_normal(start.shape, dtype=np.float32)
            start = np.abs(noise) * np.float32(np.sqrt(np.mean(start**2)))
        yield
        search = self._search = Lbfgs(self._cost, start, lower=0.0)
        while not search.done:
            yield
            search.step()
        # Hidden units that are optimized one by one are less steady in time than any motion's; encoding and decoding
        # them once more makes them so.
        once = yield from self._autoencoder.decoding(search.x)
        again = yield from self._autoencoder.encoding(once)
        twice = yield from self._autoencoder.decoding(again)
        self.frames, self.done = twice[_MARGIN:-_MARGIN], True

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        return 0.0 if self._search is None else self._search.progress

    @property
    def steps(self) -> int:
        """Evaluations of the cost so far."""
        return 0 if self._search is None else self._search.evaluations

    def step(self) -> None:
        """Do a piece of an iteration."""
        next(self._work, None)

    def gram_ratio(self, frames: Float32) -> Stepwise[float]:
        """Squared distance of the Gram matrix of frames (T, FRAME.size) to the target's, relative to the content's, in
        pieces."""
        hidden = yield from self._encoded(frames)
        off = gram_matrix(hidden) - self._gram
        return float(np.vdot(off, off)) / self._distance**2

    def _encoded(self, frames: Float32) -> Stepwise[Float32]:
        """Hidden units of frames (T, FRAME.size) with their margins."""
        return (yield from self._autoencoder.encoding(np.pad(frames, ((_MARGIN, _MARGIN), (0, 0)), mode="symmetric")))

    def _cost(self, hidden: Float32) -> Stepwise[tuple[float, Float32]]:
        """Eq. 14 with the steadiness term, and its gradient with respect to the hidden units (n, UNITS), in pieces."""
        off = gram_matrix(hidden) - self._gram
        yield
        away = hidden - self._content
        change = np.diff(away, axis=0)
        left = float(np.vdot(away, away)) + _STEADY * float(np.vdot(change, change))
        cost = self._style_scale * float(np.vdot(off, off)) + self._content_scale * left
        yield
        gradient = np.float32(4 * self._style_scale / len(hidden)) * matmul(hidden, off)
        yield
        away[1:] += np.float32(_STEADY) * change
        away[:-1] -= np.float32(_STEADY) * change
        gradient += np.float32(2 * self._content_scale) * away
        return cost, gradient
