# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the PFNN: phase blocks, resuming, and weights that the engine reads as they were trained."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import UserError
from nsm_blender.models.pfnn import CHARACTER_INPUT, INPUT, JOINTS, OUTPUT, forward
from nsm_blender.models.pfnn_kernels import PFNN
from nsm_blender.models.weights import read_tensors
from nsm_blender.motion.rotations import Array
from nsm_blender.training.pfnn_data import KINDS, DataSet, Features, extract, normalizing, prepare
from nsm_blender.training.terrain.data import GroundFeatures, GroundSet, lay_ground

torch = pytest.importorskip("torch", reason="training needs torch")

from nsm_blender.training.cards import save_weights  # noqa: E402
from nsm_blender.training.loop import Training  # noqa: E402
from nsm_blender.training.pfnn import (  # noqa: E402
    BLOCK_SIZE,
    BLOCKS,
    GroundTrainer,
    Settings,
    Trainer,
    faded,
    phase_blocks,
    sequence_starts,
)
from nsm_blender.training.pose_offset import ASTRAY, PoseOffset  # noqa: E402

from .synthetic import perform  # noqa: E402

TAU = 2 * np.pi
SETTINGS = Settings(hidden=16, epochs=4, learning_rate=3e-3, noise=0.2, seed=3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def features(count: int, seed: int) -> Features:
    """Outputs that follow from inputs and phase, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, TAU, count)
    x = rng.standard_normal((count, INPUT.size)).astype(np.float32)
    x[:, INPUT.terrain_height] = 0
    mix = np.random.default_rng(99).standard_normal((INPUT.size, OUTPUT.size)) / np.sqrt(INPUT.size)
    y = (x @ mix * 0.3 + np.cos(phase)[:, None]).astype(np.float32)
    rotations = np.tile(np.array([1, 0, 0, 0], np.float32), (count, JOINTS, 1))
    return Features(x, y, rotations, phase, np.full(count, KINDS.index("walk")))


def small_data() -> DataSet:
    train = features(3 * BLOCKS * BLOCK_SIZE, 0)
    return DataSet(
        train,
        features(256, 1),
        np.tile(np.array([1, 0, 0, 0], np.float32), (JOINTS, 1)),
        train.x.mean(0),
        np.ones(INPUT.size, np.float32),
        train.y.mean(0),
        np.ones(OUTPUT.size, np.float32),
        {},
        [],
    )


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small_data()


def quiet(_: str) -> None:
    """Training's log, unread."""


def trained(data: DataSet, settings: Settings, folder: Path, **options: bool) -> dict[str, Array]:
    return Trainer(data, settings, folder, **options).run(log=quiet)


@pytest.mark.parametrize(("frames", "held_out"), [(BLOCKS * BLOCK_SIZE - 1, 64), (4096, BLOCK_SIZE - 1)])
def test_too_few_frames_are_refused_in_words(frames: int, held_out: int, data: DataSet, tmp_path: Path) -> None:
    few = replace(data, train=features(frames, 0), held_out=features(held_out, 1))
    with pytest.raises(UserError, match=r"clips are too short to train on.*add clips of 40 seconds"):
        Trainer(few, SETTINGS, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_learns(data: DataSet, tmp_path: Path) -> None:
    trainer = Trainer(data, replace(SETTINGS, epochs=10, learning_rate=0.03, noise=0.0, keep=1.0), tmp_path)
    before = trainer.held_out_loss()
    trainer.run(log=quiet)
    assert trainer.held_out_loss() < 0.8 * before
    assert [row["epoch"] for row in trainer.history] == list(range(1, 11))


def test_the_same_seed_trains_the_same_weights_and_another_does_not(data: DataSet, tmp_path: Path) -> None:
    short = replace(SETTINGS, epochs=1)
    first, second = (trained(data, short, tmp_path / name) for name in ("a", "b"))
    other = trained(data, replace(short, seed=4), tmp_path / "c")
    np.testing.assert_array_equal(first["w1"], second["w1"])
    assert np.abs(first["w1"] - other["w1"]).max() > 1e-3


def test_without_resume_a_run_begins_anew(data: DataSet, tmp_path: Path) -> None:
    trained(data, replace(SETTINGS, epochs=1), tmp_path)
    assert Trainer(data, SETTINGS, tmp_path).epoch == 0


def test_resuming_another_size_of_network_is_refused(data: DataSet, tmp_path: Path) -> None:
    trained(data, replace(SETTINGS, epochs=1), tmp_path)
    with pytest.raises(UserError, match=r"hidden 16, not 24; .*leave --resume out"):
        Trainer(data, replace(SETTINGS, hidden=24), tmp_path, resume=True)


def test_the_epoch_that_walks_best_is_kept_and_not_the_last(data: DataSet, tmp_path: Path) -> None:
    scores = iter([3.0, 1.0, 2.0, 5.0])
    seen: list[dict[str, Array]] = []

    def validate(training: Training) -> dict[str, float]:
        seen.append(training.export())
        return {"score": next(scores)}

    trainer = Trainer(data, SETTINGS, tmp_path)
    tensors = trainer.run(quiet, validate)
    assert trainer.best_epoch == 2
    np.testing.assert_array_equal(tensors["w0"], seen[1]["w0"])
    resumed = Trainer(data, SETTINGS, tmp_path, resume=True).run(quiet, validate)
    np.testing.assert_array_equal(resumed["w0"], seen[1]["w0"])


def test_validation_comes_after_every_so_many_epochs_and_after_the_last(data: DataSet, tmp_path: Path) -> None:
    seen: list[int] = []

    def validate(training: Training) -> dict[str, float]:
        seen.append(training.epoch)
        return {"score": 1.0}

    Trainer(data, replace(SETTINGS, epochs=5), tmp_path).run(quiet, validate, every=2)
    assert seen == [2, 4, 5]


def test_the_engine_predicts_what_was_trained(data: DataSet, tmp_path: Path) -> None:
    tensors = trained(data, replace(SETTINGS, epochs=1), tmp_path)
    path = tmp_path / "pfnn.safetensors"
    save_weights(tensors, path)
    net = PFNN(read_tensors(path))  # `load` counts on joints that coincide, which these random features do not
    t = {name: value.astype(np.float64) for name, value in tensors.items()}
    held = data.held_out
    normal = ((held.x[:8] - t["x_mean"]) / t["x_scale"])[:, None]
    expected = forward(t, normal, held.phase[:8])[:, 0] * t["y_scale"] + t["y_mean"]
    found = np.stack([net.predict(x, p) for x, p in zip(held.x[:8], held.phase[:8], strict=True)])
    np.testing.assert_allclose(found, expected, atol=0.02)  # weights are kept in half precision


def test_inputs_that_never_vary_get_no_weight(data: DataSet, tmp_path: Path) -> None:
    tensors = trained(data, replace(SETTINGS, epochs=1), tmp_path)
    np.testing.assert_array_equal(tensors["w0"][:, :, INPUT.terrain_height], 0)
    assert (np.abs(tensors["w0"][:, :, INPUT.gait]).max(axis=(0, 1)) > 0).all()


@pytest.fixture(scope="module")
def phase() -> Array:
    return np.random.default_rng(5).uniform(0, TAU, 40000)


def test_phase_blocks_are_narrow_and_their_phase_is_their_samples(phase: Array) -> None:
    batches = list(phase_blocks(phase, np.ones(len(phase)), np.random.default_rng(0)))
    for samples, centers in batches:
        assert samples.shape == (BLOCKS, BLOCK_SIZE)
        away = np.angle(np.exp(1j * (phase[samples] - centers[:, None])))
        assert np.abs(away).mean() < 0.03
        assert np.abs(away).max() < 0.2
        assert centers.min() >= 0
        assert centers.max() < TAU


def test_an_epoch_sees_nearly_every_sample_once(phase: Array) -> None:
    samples = np.concatenate([s.ravel() for s, _ in phase_blocks(phase, np.ones(len(phase)), np.random.default_rng(0))])
    assert len(samples) == len(set(samples))
    assert len(samples) > len(phase) - BLOCKS * BLOCK_SIZE - BLOCK_SIZE


def test_samples_come_as_often_as_their_weights_say(phase: Array) -> None:
    weights = np.where(np.arange(len(phase)) % 2 == 0, 1.0, 2.5)
    rng = np.random.default_rng(0)
    counts = np.zeros(len(phase))
    for _ in range(4):
        for samples, _ in phase_blocks(phase, weights, rng):
            np.add.at(counts, samples.ravel(), 1)
    assert counts[1::2].mean() / counts[::2].mean() == pytest.approx(2.5, rel=0.03)


def test_batches_mix_phases_and_differ_between_epochs(phase: Array) -> None:
    rng = np.random.default_rng(0)
    first = list(phase_blocks(phase, np.ones(len(phase)), rng))
    second = list(phase_blocks(phase, np.ones(len(phase)), rng))
    assert np.ptp(first[0][1]) > np.pi
    assert not np.array_equal(first[0][0], second[0][0])


def on_ground() -> GroundSet:
    """Data whose outputs' heights follow the ground that is drawn."""
    data = small_data()
    rng = np.random.default_rng(7)

    def with_character(f: Features) -> Features:
        value = rng.normal(0.5, 0.1, (len(f.x), CHARACTER_INPUT.size - INPUT.size)).astype(np.float32)
        return replace(f, x=np.concatenate((f.x, value), axis=1))

    base = with_character(data.train)
    heights = rng.normal(0, 0.2, (len(base.x), 3, 36)).astype(np.float16)
    grounds = GroundFeatures(base, heights, rng.normal(0, 0.3, (len(base.x), 3)).astype(np.float32))
    train, held_out = grounds.drawn(rng), with_character(data.held_out)
    drawn = replace(
        data,
        train=train,
        held_out=held_out,
        x_mean=train.x.mean(0),
        x_scale=np.ones(CHARACTER_INPUT.size, np.float32),
    )
    return GroundSet(drawn, grounds, {}, ["b"], "", {}, {})


@pytest.fixture(scope="module")
def ground() -> GroundSet:
    return on_ground()


def test_a_ground_that_is_drawn_moves_all_heights_together(ground: GroundSet) -> None:
    number = np.zeros(len(ground.grounds.base.x), dtype=int)
    heights, datum = ground.grounds.chosen(number)
    x, y = ground.grounds.base.x.copy(), ground.grounds.base.y.copy()
    lay_ground(x, y, heights, datum)
    np.testing.assert_array_equal(x[:, INPUT.terrain_height], heights)
    for before, after, place in ((ground.grounds.base.x, x, INPUT), (ground.grounds.base.y, y, OUTPUT)):
        moved = (after - before)[:, place.joint_position].reshape(-1, JOINTS, 3)
        np.testing.assert_allclose(moved[..., 2], np.repeat(-datum[:, None], JOINTS, 1), atol=1e-5)
        np.testing.assert_array_equal(moved[..., :2], 0)


def test_each_epoch_sees_other_grounds_and_the_same_seed_the_same(ground: GroundSet, tmp_path: Path) -> None:
    short = replace(SETTINGS, epochs=2)
    seen: list[Array] = []

    class Watched(GroundTrainer):
        def begin_epoch(self) -> None:
            super().begin_epoch()
            seen.append(self._x[:, INPUT.terrain_height].numpy().copy())

    first = Watched(ground, short, tmp_path / "a").run(log=quiet)
    second = Watched(ground, short, tmp_path / "b").run(log=quiet)
    assert np.abs(seen[0] - seen[1]).max() > 0.1
    np.testing.assert_array_equal(seen[0], seen[2])
    np.testing.assert_array_equal(first["w0"], second["w0"])


def test_the_engine_reads_weights_of_several_performers_on_any_ground(ground: GroundSet, tmp_path: Path) -> None:
    path = tmp_path / "pfnn.safetensors"
    save_weights(GroundTrainer(ground, replace(SETTINGS, epochs=1), tmp_path / "run").run(log=quiet), path)
    net = PFNN.load(path)
    assert net.input_size == CHARACTER_INPUT.size
    assert net.uses(INPUT.terrain_height)
    assert net.character is not None
    np.testing.assert_allclose(net.character, ground.data.x_mean[CHARACTER_INPUT.character])
    x = ground.data.held_out.x[0].copy()
    before = net.predict(x, 1.0).copy()
    x[INPUT.terrain_height] += 0.1
    assert np.abs(net.predict(x, 1.0) - before).max() > 1e-4


def test_flat_weights_of_one_performer_feel_no_ground(data: DataSet, tmp_path: Path) -> None:
    path = tmp_path / "pfnn.safetensors"
    save_weights(trained(data, replace(SETTINGS, epochs=1), tmp_path), path)
    net = PFNN.load(path)
    assert not net.uses(INPUT.terrain_height)
    assert net.uses(INPUT.gait)
    assert net.character is None


def test_training_goes_on_from_weights_of_level_ground(data: DataSet, ground: GroundSet, tmp_path: Path) -> None:
    """On level ground the network begins as it was, whoever performs; the rest is learned."""
    earlier = trained(data, replace(SETTINGS, epochs=1), tmp_path / "earlier")
    g = ground.data
    g = normalizing(g.train, g.held_out, CHARACTER_INPUT, {}, [], earlier)
    trainer = GroundTrainer(replace(ground, data=g), SETTINGS, tmp_path / "run", earlier=earlier)
    known = forward(earlier, normal(data.held_out, data)[:, None], data.held_out.phase)
    level = normal(g.held_out, g)
    level[:, INPUT.terrain_height] = 3.0
    now = forward(trainer.export(), level[:, None], g.held_out.phase)
    np.testing.assert_allclose(now, known, atol=1e-4)
    tensors = trainer.run(log=quiet)
    np.testing.assert_array_equal(tensors["y_mean"], earlier["y_mean"])
    assert np.abs(tensors["w0"][:, :, INPUT.terrain_height]).max() > 0


def normal(part: Features, data: DataSet) -> Array:
    """Inputs as the network is given them."""
    out: Array = ((part.x - data.x_mean) / data.x_scale).astype(np.float32)
    return out


def test_training_does_not_go_on_from_weights_of_another_size(data: DataSet, tmp_path: Path) -> None:
    earlier = trained(data, replace(SETTINGS, epochs=1), tmp_path / "earlier")
    with pytest.raises(UserError, match=r"'w0' of shape \[4, 16, 276\], not \[4, 24, 276\]; .*as many hidden units"):
        Trainer(data, replace(SETTINGS, hidden=24), tmp_path / "run", earlier=earlier)


def test_a_share_of_the_weights_that_were_begun_with_is_kept(data: DataSet, tmp_path: Path) -> None:
    earlier = trained(data, replace(SETTINGS, epochs=1), tmp_path / "earlier")
    full, half = (
        Trainer(data, replace(SETTINGS, kept=kept), tmp_path / str(kept), earlier=earlier).run(quiet)
        for kept in (0.0, 0.5)
    )
    np.testing.assert_allclose(half["w1"], 0.5 * (full["w1"] + earlier["w1"]), atol=1e-6)
    np.testing.assert_array_equal(half["y_mean"], earlier["y_mean"])


@pytest.fixture(scope="module")
def walks() -> DataSet:
    """Two clips of walks, and a held-out one."""
    parts = [extract(prepare(perform(speed, seconds).clip)) for speed, seconds in ((1.2, 16.0), (0.9, 8.0), (1.0, 4.0))]
    return normalizing(Features.concatenate(parts[:2]), parts[2], INPUT, {}, [])


def test_sequences_stay_within_a_clip(walks: DataSet) -> None:
    clips = [16 * 60 - 122, 8 * 60 - 122]
    starts = sequence_starts(walks.train.x, walks.train.y, 10)
    np.testing.assert_array_equal(starts, np.r_[0 : clips[0] - 9, clips[0] : sum(clips) - 9])


def test_in_a_sequence_the_network_goes_on_from_its_own_pose(walks: DataSet, tmp_path: Path) -> None:
    """What was recorded counts at its first frame alone."""
    settings = replace(SETTINGS, lengths=[8], keep=1.0)
    first = np.array([20])
    errors = []
    for offset in (0, 1, 3):
        trainer = Trainer(walks, settings, tmp_path / str(offset))
        trainer._x[20 + offset, INPUT.joint_position] += 1.0
        errors.append(float(trainer.loss((first, walks.train.phase[first])).detach()))
    assert errors[1] == errors[2] != errors[0]


def test_training_on_sequences_brings_rollouts_nearer_to_what_was_recorded(walks: DataSet, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=80, learning_rate=0.01, noise=0.0, keep=1.0, lengths=[1, 8])
    trainer = Trainer(walks, settings, tmp_path)
    first = np.arange(0, 400, 20)
    errors = []
    for _ in range(2):
        trainer.epoch = settings.epochs - 1
        errors.append(float(trainer.loss((first, walks.train.phase[first])).detach()))
        trainer.epoch = 0
        trainer.run(quiet)
    assert errors[1] < 0.5 * errors[0]


def test_sequences_begin_in_poses_of_others_at_about_the_same_phase(walks: DataSet, tmp_path: Path) -> None:
    data = copy.deepcopy(walks)
    # No two frames of a made-up walk are to be in the same pose, so that every sequence astray is told by its offset.
    places = data.train.x[:, INPUT.joint_position]
    places += np.random.default_rng(1).normal(0, 1e-3, places.shape)
    trainer = Trainer(data, SETTINGS, tmp_path)
    first = np.arange(0, 900, 7)
    off = trainer.astray(first)
    some = np.abs(off.place).max(axis=1) > 0
    assert some.mean() == pytest.approx(ASTRAY, abs=0.15)
    poses = places[first] + off.place
    of = first[np.abs(poses[:, None] - places[first]).max(axis=2).argmin(axis=1)]
    np.testing.assert_allclose(poses, places[of], atol=1e-5)
    apart = np.abs(np.angle(np.exp(1j * (walks.train.phase[of] - walks.train.phase[first]))))
    assert apart.max() < 0.3


def test_the_offset_of_a_pose_fades_within_a_second_from_the_rate_that_it_has() -> None:
    rng = np.random.default_rng(0)
    place, rate, turn, turn_rate = rng.standard_normal((4, 2, 3 * JOINTS))
    after = [faded(PoseOffset(place, rate, turn, turn_rate), frame) for frame in range(61)]
    places, rates, turns = (np.array([np.split(values, 3, axis=1)[i] for values in after]) for i in range(3))
    np.testing.assert_allclose(places[0], place + rate / 60, atol=0.03)
    np.testing.assert_array_equal(turns[0], turn)
    np.testing.assert_allclose(np.gradient(places, 1 / 60, axis=0)[1:-1], rates[1:-1], atol=0.1)
    assert np.abs(places[-1]).max() < 0.02 * np.abs(place).max() and np.abs(turns[-1]).max() < 0.02


def test_sequences_longer_than_any_clip_are_refused_in_words(walks: DataSet, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No clip has 2000 frames to train on; give shorter sequences"):
        Trainer(walks, replace(SETTINGS, lengths=[1, 2000]), tmp_path)


def test_a_pose_goes_on_above_the_next_frames_ground(ground: GroundSet, tmp_path: Path) -> None:
    """Where the root's height rises by a step, the joints are as much lower."""
    trainer = GroundTrainer(ground, SETTINGS, tmp_path)
    trainer.begin_epoch()
    frames, pose = np.array([5, 6]), torch.zeros(2, 2 * 3 * JOINTS)
    trainer._datum = np.zeros_like(trainer._datum)
    level = trainer._going_in(pose, frames)
    trainer._datum[6:] = 0.25
    moved = (trainer._going_in(pose, frames) - level)[0, : 3 * JOINTS].reshape(JOINTS, 3)
    np.testing.assert_allclose(moved[:, 2], -0.25, atol=1e-5)
    np.testing.assert_array_equal(moved[:, :2], 0)
