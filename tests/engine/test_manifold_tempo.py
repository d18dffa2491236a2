# SPDX-License-Identifier: GPL-3.0-or-later
"""Tempo: measured, and a motion brought to another one along the same path."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import EditError
from nsm_blender.evaluation.manifold import path_distance
from nsm_blender.manifold.edit import Edit
from nsm_blender.manifold.frames import to_frames
from nsm_blender.manifold.style import Style, StyleSettings
from nsm_blender.manifold.tempo import Tempo, mixed, retimed
from nsm_blender.motion.motion import Motion
from nsm_blender.naturalness.metrics import bone_length_error, foot_slide

from .manifolds import autoencoder, walk


def tempo(motion: Motion) -> Tempo:
    return Tempo.of(to_frames(motion.positions, motion.root, motion.contacts))


def with_a_rest(motion: Motion, frames: int) -> Motion:
    """The motion, and then its last pose for so many frames."""
    return motion.sampled(np.arange(len(motion) + frames))


def curved(motion: Motion) -> Motion:
    """The motion along a bend of 2.5 m."""
    root = motion.root.copy()
    along = np.linalg.norm(root[:, :2] - root[0, :2], axis=1) / 2.5
    root[:, 0], root[:, 1] = 2.5 * (1 - np.cos(along)), -2.5 * np.sin(along)
    return replace(motion, root=root, positions=motion.positions + (root - motion.root)[:, None, :3])


def test_the_speed_of_a_walk_is_found_and_its_steps_are_counted() -> None:
    motion = walk(360, speed=1.3)
    found = tempo(motion)
    assert found.speed == pytest.approx(1.3, rel=0.05)
    down = motion.contacts.reshape(-1, 2, 2).max(2)
    landed = np.count_nonzero(np.diff(down, axis=0) > 0)
    assert found.cadence == pytest.approx(landed / 6, abs=1 / 6)
    assert tempo(with_a_rest(motion, 200)).speed == pytest.approx(found.speed, rel=0.1)


def test_a_standing_character_has_no_tempo() -> None:
    still = walk(60).sampled(np.zeros(120))
    assert tempo(still) == Tempo()
    assert retimed(still, Tempo(1.0, 2.0), 1.0) is still


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_at_another_speed_the_way_is_the_same_and_takes_as_much_longer(speed: float) -> None:
    given = curved(walk(360, speed=1.2))
    own = tempo(given)
    out = retimed(given, Tempo(speed, own.cadence * speed / own.speed), 1.0)
    assert len(out) == pytest.approx(len(given) * own.speed / speed, rel=0.02)
    assert tempo(out).speed == pytest.approx(speed, rel=0.03)
    assert path_distance(out.root[:, :2], given.root[:, :2]) < 0.001
    np.testing.assert_allclose(out.root[[0, -1], :2], given.root[[0, -1], :2], atol=0.03)
    assert bone_length_error(out.positions.astype(float)) < 1e-4


def test_a_share_lies_between() -> None:
    given = walk(360)
    own = tempo(given)
    wanted = Tempo(own.speed / 2, own.cadence / 2)
    assert retimed(given, wanted, 0.0) is given
    half, whole = (retimed(given, wanted, share) for share in (0.5, 1.0))
    assert len(given) < len(half) < len(whole)


def test_a_rest_lasts_as_long_as_before() -> None:
    walking, resting = walk(300), with_a_rest(walk(300), 240)
    wanted = Tempo(0.6, 1.0)
    longer = len(retimed(resting, wanted, 1.0)) - len(retimed(walking, wanted, 1.0))
    assert longer == pytest.approx(240, abs=30)


def test_steps_come_oftener_at_the_same_speed_and_the_motion_flows() -> None:
    given = walk(480, speed=1.2)
    own = tempo(given)
    out = retimed(given, Tempo(own.speed, 1.6 * own.cadence), 1.0)
    assert len(out) == len(given)
    assert tempo(out).cadence == pytest.approx(1.6 * own.cadence, rel=0.1)
    assert bone_length_error(out.positions.astype(float)) < 1e-4
    step = [np.linalg.norm(np.diff(m.positions - m.root[:, None, :3], axis=0), axis=-1).max() for m in (given, out)]
    assert step[1] < 2.5 * step[0]


def test_what_has_no_tempo_is_refused_with_the_reason() -> None:
    with pytest.raises(EditError, match="has no tempo"):
        retimed(walk(60), Tempo(), 1.0)
    with pytest.raises(EditError, match="between 0 and 1"):
        retimed(walk(60), Tempo(1.0, 1.0), 1.5)


def test_a_mixture_of_tempos_lies_between_and_lacks_what_one_of_them_lacks() -> None:
    assert mixed((Tempo(1.0, 2.0), Tempo(2.0, 1.0)), (0.5, 0.5)) == Tempo(1.5, 1.5)
    assert mixed((Tempo(1.0, 2.0), Tempo(2.0, 0.0)), (0.5, 0.5)) == Tempo(1.5, 0.0)


def test_with_the_style_s_timing_a_walk_comes_nearer_to_it_on_the_same_way() -> None:
    slow, given = walk(360, speed=0.7), walk(240, speed=1.5)
    style = Style.of("slow", autoencoder(), to_frames(slow.positions, slow.root, slow.contacts))
    own = Edit(given, style=style, autoencoder=autoencoder())
    own.motion()
    timed = Edit(
        retimed(given, style.tempo, 1.0),
        style=style,
        settings=StyleSettings(timing=1.0),
        autoencoder=autoencoder(),
        given=given,
    )
    motion = timed.motion()
    assert timed.report["style.retimed_gram_ratio"] < 1
    assert timed.report["style.final_gram_ratio"] < 0.7 * own.report["style.final_gram_ratio"]
    assert "style.retimed_gram_ratio" not in own.report
    assert path_distance(motion.root[:, :2], given.root[:, :2]) < 0.05
    assert foot_slide(motion) < 1
    with pytest.raises(EditError, match="between 0 and 1"):
        Edit(given, style=style, settings=StyleSettings(timing=2.0), autoencoder=autoencoder())
