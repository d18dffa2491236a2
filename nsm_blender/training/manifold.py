# SPDX-License-Identifier: GPL-3.0-or-later
"""The training runs of the motion manifold (Holden et al. 2016): data, settings, weights and model card of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import make_folder, read_json, write_whole
from ..models.manifold import SHAPES, Autoencoder
from ..models.weights import check_shapes, file_hash, read_tensors
from ..motion.clip_file import LibraryEntry, load_library
from ..paths import weights_folder
from . import autoencoder, cards, strikes, styles, synthesis
from .strike_data import fights, strike_clips
from .synthesis_data import Walk, locomotion_clips, walks

PAPER = "Holden, Saito, Komura: A Deep Learning Framework for Character Motion Synthesis and Editing, 2016"
MIRRORED = "mirrored in the sagittal plane"
"""Words of the model card for clips that are trained on mirrored too."""
FOOTSTEPS = synthesis.Settings(steps=3000, l1=0.01)
"""Hyperparameters of the footstep network."""
LOCOMOTION = synthesis.Settings(steps=5000, speed_weight=5.0, slide_weight=0.1)
"""Hyperparameters of the network of locomotion."""
END_EFFECTORS = synthesis.Settings(steps=1500, speed_weight=5.0)
"""Hyperparameters of the network of punches and kicks."""


@dataclass(frozen=True)
class Run:
    """What a training run is told.

    data: folder with index.json and clips/. out: weights to write. folder: of the checkpoint. epochs: of each
    stage of the autoencoder, steps: of the others; None takes the settings' own. autoencoder: weights that the
    networks decode with; None takes those that travel with the engine. command: what repeats the run.
    unsure: performers that may be held-out ones. validation: performers of the training side on which the run is
    watched; neither are trained on. pooling: False trains the network without pooling and dropout that the paper
    compares with, or the feed-forward network for it.
    """

    data: Path
    out: Path
    folder: Path
    command: Sequence[str]
    test_subjects: Sequence[str] = ()
    unsure: Sequence[str] = ()
    validation: Sequence[str] = ()
    seed: int = 1
    device: str = "cpu"
    resume: bool = False
    epochs: Sequence[int] | None = None
    steps: int | None = None
    autoencoder: Path | None = None
    pooling: bool = True

    @property
    def decoder(self) -> Path:
        """The autoencoder's weights file."""
        return self.autoencoder or weights_folder() / "autoencoder.safetensors"

    @property
    def held_out(self) -> str:
        """The performers that are held out, in words for the card."""
        groups = (
            ("the performers", self.test_subjects),
            ("left out because they may be of these:", self.unsure),
            ("left out to choose by:", self.validation),
        )
        return "; ".join(f"{what} {', '.join(names)}" for what, names in groups if names) or "none"

    @property
    def left_out(self) -> tuple[str, ...]:
        """Performers that are not trained on."""
        return (*self.test_subjects, *self.unsure, *self.validation)

    def settings(self, own: synthesis.Settings) -> synthesis.Settings:
        """The settings of a network, with what the run was told."""
        steps = own.steps if self.steps is None else self.steps
        return replace(own, steps=steps, seed=self.seed)


def train_autoencoder(run: Run) -> None:
    """The autoencoder (section 5)."""
    stages = [replace(stage, seed=run.seed, pooling=run.pooling) for stage in autoencoder.STAGES]
    if run.epochs is not None:
        if len(run.epochs) != len(stages):
            raise UserError(f"The autoencoder trains in {len(stages)} stages; give the epochs of each.")
        stages = [
            replace(stage, epochs=n, settling=min(stage.settling, n))
            for stage, n in zip(stages, run.epochs, strict=True)
        ]
    library = load_library(run.data)
    entries = [e for e in library if e.subject not in run.left_out]
    _require(entries, run, "clip")
    windows = autoencoder.build(entries)
    print(f"{len(entries)} clips, {len(windows)} windows of {autoencoder.WINDOW} frames with mirrored ones")
    watched = [e for e in library if e.subject in run.validation]
    validation = autoencoder.build(watched, (False,)) if watched else None
    trainer = autoencoder.Trainer(windows, stages, run.folder, run.device, run.resume, validation)
    cards.save_weights(trainer.run(), run.out)
    _card(
        run,
        "autoencoder",
        entries,
        [MIRRORED],
        trainer.history,
        {"windows_after_augmentation": len(windows)},
        stages=[asdict(stage) for stage in trainer.stages],
    )


def train_footsteps(run: Run) -> None:
    """The footstep network (6.3)."""
    entries = locomotion_clips(run.data, run.left_out)
    _require(entries, run, "plain locomotion clip")
    training = synthesis.FootstepTraining(
        _walks(entries, run), run.settings(FOOTSTEPS), run.folder, device=run.device, resume=run.resume
    )
    cards.save_weights(training.run(), run.out)
    _card(run, "footsteps", entries, [MIRRORED], training.history, settings=asdict(training.settings))


def train_locomotion(run: Run) -> None:
    """The feed-forward network from trajectory and contacts to hidden units (6.1)."""
    tensors = _decoder(run)
    entries = locomotion_clips(run.data, run.left_out)
    _require(entries, run, "plain locomotion clip")
    examples = synthesis.locomotion_examples(_walks(entries, run))
    training = _feed_forward(run, examples, synthesis.LOCOMOTION_PIECES, tensors, LOCOMOTION)
    cards.save_weights(training.run(), run.out)
    _card(
        run,
        "locomotion",
        entries,
        [MIRRORED],
        training.history,
        settings=asdict(training.settings),
        autoencoder=file_hash(run.decoder),
        pooling=run.pooling,
    )


def train_end_effectors(run: Run) -> None:
    """The feed-forward network of punches and kicks (section 6 and 8)."""
    # The doubtful performers may be held-out ones of the same studio, but no strike of that studio is held out.
    run = replace(run, unsure=())
    tensors = _decoder(run)
    entries = strike_clips(run.data, run.left_out)
    found = fights(entries)
    _require(found, run, "punch or kick")
    seen = {fight.name for fight in found}
    weights = strikes.Weights()
    training = strikes.StrikeTraining(
        found, tensors, run.settings(END_EFFECTORS), run.folder, weights, device=run.device, resume=run.resume
    )
    cards.save_weights(training.run(), run.out)
    _card(
        run,
        "end_effectors",
        [entry for entry in entries if entry.name in seen],
        [
            MIRRORED,
            f"each strike at {strikes.VERSIONS - 1} other places near by, the limb reaching there, the body stepping",
            f"in each step {strikes.TARGETS} targets about {100 * strikes.SPREAD:.0f} cm from recorded ones, to be hit",
        ],
        training.history,
        {"strikes_after_mirroring": sum(len(fight.strikes) for fight in found)},
        settings=asdict(training.settings),
        weights=asdict(weights),
        autoencoder=file_hash(run.decoder),
    )


def take_styles(run: Run) -> None:
    """The bundled styles (7.2): nothing is trained, the Gram matrices of their clips are taken."""
    network = Autoencoder.load(run.decoder)
    library = {entry.name: entry for entry in load_library(run.data)}
    taken = styles.build(run.data, network, styles.STYLES)
    used = sorted({clip for parts in styles.STYLES.values() for clip, _, _ in parts})
    make_folder(run.out.parent)
    styles.write(taken, run.out)
    path = run.out.with_suffix(".json")
    card = read_json(path, dict, "a model card")
    card["data"] = cards.data_section([library[name] for name in used], [], "nothing: nothing is learned")
    card["training"]["command"] = cards.training_section(run.command, run.seed, [])["command"]
    card["results"] = {}
    write_whole(path, json.dumps(card, indent=1) + "\n")


RUNS: dict[str, Callable[[Run], None]] = {
    "autoencoder": train_autoencoder,
    "footsteps": train_footsteps,
    "locomotion": train_locomotion,
    "end-effectors": train_end_effectors,
    "styles": take_styles,
}
"""The systems of `nsm-blender train` that belong to the manifold."""


def _feed_forward(
    run: Run,
    examples: Sequence[synthesis.Example],
    pieces: Sequence[slice],
    tensors: dict[str, Any],
    own: synthesis.Settings,
) -> synthesis.FeedForwardTraining:
    settings = run.settings(own)
    return synthesis.FeedForwardTraining(
        examples, pieces, tensors, settings, run.folder, run.pooling, device=run.device, resume=run.resume
    )


def _decoder(run: Run) -> dict[str, Any]:
    """Tensors of the autoencoder. Raises WeightsError."""
    tensors = read_tensors(run.decoder)
    check_shapes(tensors, SHAPES, run.decoder)
    return dict(tensors)


def _walks(entries: Sequence[LibraryEntry], run: Run) -> list[Walk]:
    """The walks of clips. Raises UserError when all are too short or turn like dancers."""
    found = walks(entries)
    _require(found, run, "locomotion clip that is long and even enough")
    return found


def _require(found: Sequence[Any], run: Run, what: str) -> None:
    if not found:
        raise UserError(
            f"{run.data} holds no {what} of a performer that is not held out; there is nothing to train on."
        )


def _card(
    run: Run,
    model: str,
    entries: Sequence[LibraryEntry],
    augmentation: Sequence[str],
    history: Sequence[dict[str, float]],
    more: dict[str, Any] | None = None,
    **training: Any,
) -> None:
    data = cards.data_section(entries, augmentation, run.held_out, **(more or {}))
    cards.write_card(run.out, model, PAPER, data, cards.training_section(run.command, run.seed, history, **training))
