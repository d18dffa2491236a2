# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthesis and editing in the motion manifold (Holden et al. 2016)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

from ..errors import EditError
from ..manifold import constraints as _constraints
from ..manifold.constraints import Constraint
from ..manifold.edit import Edit
from ..manifold.frames import to_frames
from ..manifold.strike import StrikeShot, StrikeSynthesis, Target
from ..manifold.style import Style, StyleSettings, blend, bundled
from ..manifold.synthesis import Crowd, Options, Synthesis
from ..manifold.tempo import retimed
from ..models.manifold import FPS, Autoencoder
from ..motion.foot_lock import Heights
from ..motion.motion import Motion
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..paths import weights_folder
from ..shot.shot import Shot
from .work import Progress, run

# Outside of their rooms, these want longer names.
SynthesisOptions = Options
StrikeTarget = Target
bundled_style = bundled
blend_styles = blend
constraints_from_json = _constraints.from_json
constraints_to_json = _constraints.to_json


@overload
def synthesize(
    shot: Shot,
    options: SynthesisOptions | None = None,
    *,
    ground: Heights | None = None,
    progress: Progress | None = None,
) -> Motion: ...
@overload
def synthesize(shot: StrikeShot, *, progress: Progress | None = None) -> Motion: ...
@overload
def synthesize(
    shot: Sequence[Shot],
    options: SynthesisOptions | Sequence[SynthesisOptions] | None = None,
    *,
    ground: Heights | None = None,
    progress: Progress | None = None,
) -> list[Motion]: ...
def synthesize(
    shot: Shot | StrikeShot | Sequence[Shot],
    options: SynthesisOptions | Sequence[SynthesisOptions] | None = None,
    *,
    ground: Heights | None = None,
    progress: Progress | None = None,
) -> Motion | list[Motion]:
    """Synthesize whole motions at once (section 6): a walk along the shot's curve, punches and kicks, or a crowd.

    shot: a Shot with a path, whose speeds tell walking from running; a StrikeShot; or many Shots, which gives a motion
    for each, in their order. options: how the characters step, one for all or one each. ground: heights (...) in meters
    of the terrain at places (..., 2); None: flat at 0. Each motion has its shot's frames at its rate, in the world,
    meters, Z up. Raises ShotError or WeightsError.
    """
    if isinstance(shot, StrikeShot):
        strikes = begin_synthesis(shot)
        run(strikes, progress)
        return strikes.motion()
    if isinstance(shot, Shot):
        assert options is None or isinstance(options, SynthesisOptions)
        walk = begin_synthesis(shot, options, ground=ground)
        run(walk, progress)
        return walk.motion()
    crowd = begin_synthesis(shot, options, ground=ground)
    run(crowd, progress)
    return crowd.motions()


@overload
def begin_synthesis(
    shot: Shot,
    options: SynthesisOptions | None = None,
    *,
    ground: Heights | None = None,
    again: Synthesis | None = None,
) -> Synthesis: ...
@overload
def begin_synthesis(shot: StrikeShot) -> StrikeSynthesis: ...
@overload
def begin_synthesis(
    shot: Sequence[Shot],
    options: SynthesisOptions | Sequence[SynthesisOptions] | None = None,
    *,
    ground: Heights | None = None,
) -> Crowd: ...
def begin_synthesis(
    shot: Shot | StrikeShot | Sequence[Shot],
    options: SynthesisOptions | Sequence[SynthesisOptions] | None = None,
    *,
    ground: Heights | None = None,
    again: Synthesis | None = None,
) -> Synthesis | StrikeSynthesis | Crowd:
    """The same in steps: `step()` until `done`, then `motion()`, of a crowd `motions()`.

    again: the finished synthesis of the same character before its curve was changed; its networks are used again, and
    everything is kept that the change does not touch. Arguments and errors else as for `synthesize`, on construction.
    """
    if isinstance(shot, StrikeShot):
        return StrikeSynthesis(shot)
    if isinstance(shot, Shot):
        assert options is None or isinstance(options, SynthesisOptions)
        return Synthesis(shot, options, None if again is None else again.networks, again, ground)
    return Crowd(shot, options, ground=ground)


def edit(
    motion: Motion,
    constraints: Sequence[Constraint] = (),
    style: Style | Motion | str | None = None,
    *,
    strength: float = 1.0,
    settings: StyleSettings | None = None,
    progress: Progress | None = None,
) -> Motion:
    """Edit a motion in the manifold (section 7): hold it to constraints, give it a style, or both.

    motion: on the model skeleton, at any rate, such as a bake's; its contacts and root are taken as they are.
    constraints: their frames count from 0 at the motion's rate; bone lengths are always kept. style: None, a Style, the
    name of a bundled one, or a motion that shows it; the root then keeps its path, and `settings` says how the style is
    taken on. With `settings.timing` above 0 the motion first goes at the style's tempo: it may then last longer or
    shorter, and constraints count its new frames. strength: 0 gives the motion back, 1 the edit, more exaggerates it.
    Returns the motion at its rate. Raises EditError or WeightsError.
    """
    work = begin_edit(motion, constraints, style, strength=strength, settings=settings)
    run(work, progress)
    return work.motion()


def begin_edit(
    motion: Motion,
    constraints: Sequence[Constraint] = (),
    style: Style | Motion | str | None = None,
    *,
    strength: float = 1.0,
    settings: StyleSettings | None = None,
    given: Motion | None = None,
) -> Edit:
    """The same in steps: `step()` until `done`, then `motion()`; `report` has figures before and after, and `warnings`
    says which constraints do not hold.

    given: the motion before it was brought to the style's tempo by `retimed`; None: that is done here. Arguments and
    errors else as for `edit`, on construction.
    """
    autoencoder = _autoencoder()
    if isinstance(style, Motion):
        style = _style_of(style, autoencoder)
    elif isinstance(style, str):
        style = bundled_style(style)
    if style is not None and given is None and settings is not None:
        given, motion = motion, retimed(motion, style.tempo, settings.timing)
    return Edit(motion, constraints, style, strength, settings, autoencoder, given)


def style_of(motion: Motion, name: str = "") -> Style:
    """The style of a motion on the model skeleton, at any rate: its Gram matrix (eq. 15) and its tempo. name: of the
    style; by default the motion's own. Raises EditError or WeightsError."""
    return _style_of(motion, _autoencoder(), name)


def _style_of(motion: Motion, autoencoder: Autoencoder, name: str = "") -> Style:
    if motion.names != MODEL_SKELETON.names:
        raise EditError("The motion is not on the model skeleton; retarget it first.")
    if motion.contact_names != CONTACT_JOINTS:
        raise EditError(f"The motion does not say when heels and toes stand; give it contacts {CONTACT_JOINTS}.")
    count = math.floor((len(motion) - 1) * FPS / motion.fps) + 1
    at_60 = motion.resampled(FPS, count + count % 2)
    name = name or str(motion.meta.get("name", ""))
    return Style.of(name, autoencoder, to_frames(at_60.positions, at_60.root, at_60.contacts), source=name)


def _autoencoder() -> Autoencoder:
    """The shipped manifold, in whose units styles are. Raises WeightsError."""
    return Autoencoder.load(weights_folder() / "autoencoder.safetensors")
