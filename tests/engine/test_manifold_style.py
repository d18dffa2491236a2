# SPDX-License-Identifier: GPL-3.0-or-later
"""Styles: Gram matrices, their files, mixtures, and the transfer."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import EditError, FileFormatError
from nsm_blender.manifold.style import Restyle, Style, StyleSettings, blend, gram_matrix, nearest_gram
from nsm_blender.manifold.tempo import Tempo
from nsm_blender.stepwise import finished

from .manifolds import autoencoder, walk_base


def fast() -> Style:
    from nsm_blender.manifold.frames import to_frames

    from .manifolds import walk

    motion = walk(240, speed=1.8)
    return Style.of("fast", autoencoder(), to_frames(motion.positions, motion.root, motion.contacts), "made", "CC0")


def run(restyle: Restyle) -> Restyle:
    while not restyle.done:
        restyle.step()
    return restyle


def test_the_gram_matrix_is_the_mean_of_products() -> None:
    hidden = np.random.default_rng(0).normal(size=(7, 256)).astype(np.float32)
    literal = sum(np.outer(h, h) for h in hidden) / 7
    np.testing.assert_allclose(gram_matrix(hidden), literal, rtol=1e-4, atol=1e-5)


def test_a_style_survives_its_file(tmp_path: Path) -> None:
    style = fast()
    style.save(tmp_path / "fast.style")
    read = Style.load(tmp_path / "fast.style")
    assert (read.name, read.source, read.licence, read.autoencoder) == ("fast", "made", "CC0", "smoothing")
    assert read.tempo.speed == pytest.approx(1.8, rel=0.05)
    assert (read.tempo.speed, read.tempo.cadence) == pytest.approx((style.tempo.speed, style.tempo.cadence))
    np.testing.assert_allclose(read.gram, style.gram, rtol=1e-3, atol=1e-3 * np.abs(style.gram).max())
    assert (tmp_path / "fast.style").stat().st_size < 70_000


def test_a_file_from_before_there_were_tempi_has_none(tmp_path: Path) -> None:
    fast().save(tmp_path / "fast.npz")
    with np.load(tmp_path / "fast.npz") as z:
        np.savez(tmp_path / "older.npz", **{key: z[key] for key in z.files if key != "tempo"})
    assert Style.load(tmp_path / "older.npz").tempo == Tempo()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a file", b"not a style"])
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.style"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"broken\.style"):
        Style.load(path)


@pytest.mark.parametrize("start", ["content", "noise"])
def test_the_motion_takes_the_style(start: str) -> None:
    content = walk_base(240).frames
    restyle = Restyle(autoencoder(), content, fast(), StyleSettings(start=start))
    run(restyle)
    assert finished(restyle.gram_ratio(content)) == pytest.approx(1, rel=1e-3)
    assert finished(restyle.gram_ratio(restyle.frames)) < 0.1


def test_the_same_seed_gives_the_same_motion_and_another_seed_another() -> None:
    content = walk_base(120).frames
    first, same, other = (
        run(Restyle(autoencoder(), content, fast(), StyleSettings(start="noise", seed=seed))).frames
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-4


def test_none_of_the_style_leaves_the_content_as_it_is_encoded() -> None:
    network, content = autoencoder(), walk_base(120).frames
    restyle = run(Restyle(network, content, fast(), StyleSettings(amount=0.0)))
    once = network.decode(network.encode(content))
    inside = slice(40, -40)  # away from the ends, where the encoder sees what goes before and after
    np.testing.assert_allclose(restyle.frames[inside], network.decode(network.encode(once))[inside], atol=1e-4)


def test_the_ends_of_a_motion_do_not_start_from_the_mean_pose() -> None:
    network, content = autoencoder(), walk_base(120).frames + np.float32(0.1)
    frames = run(Restyle(network, content, fast(), StyleSettings(amount=0.0))).frames
    off = np.abs(frames - content)[:, :60].mean(1)
    assert off[[0, -1]].max() < 2 * off[40:-40].max()


def test_a_mixture_lies_between_and_an_exaggeration_beyond() -> None:
    network = autoencoder()
    plain = Style.of("plain", network, walk_base(240).frames)
    half = blend((plain, fast()), (0.5, 0.5))
    np.testing.assert_allclose(half.gram, (plain.gram + fast().gram) / 2, rtol=1e-3, atol=1e-4)
    more = blend((plain, fast()), (-1.0, 2.0))
    assert np.linalg.norm(more.gram - plain.gram) > np.linalg.norm(fast().gram - plain.gram)
    assert np.linalg.eigvalsh(more.gram.astype(float)).min() > -1e-3 * np.abs(more.gram).max()


def test_the_nearest_gram_matrix_of_a_gram_matrix_is_itself() -> None:
    gram = fast().gram
    np.testing.assert_allclose(nearest_gram(gram), gram, atol=1e-4 * np.abs(gram).max())


def test_styles_of_other_weights_are_refused() -> None:
    other = replace(fast(), autoencoder="older")
    with pytest.raises(EditError, match="other weights"):
        Restyle(autoencoder(), walk_base(60).frames, other, StyleSettings())
    with pytest.raises(EditError, match="different weights"):
        blend((fast(), other), (0.5, 0.5))
