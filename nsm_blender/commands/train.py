# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender train`: train a model on a folder of clips and write weights with a model card."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from .. import UserError
from ..files.reading import is_folder
from ..files.writing import check_folder, check_writable
from . import compose, count, count_or_none, positive, train_nsm

SYSTEMS = ("nsm", "pfnn", "autoencoder", "locomotion", "footsteps", "end-effectors", "styles", "sway")
_PFNN_EPOCHS, _PFNN_HIDDEN = 20, 512
"""Epochs and hidden units of the PFNN, unless told otherwise."""
_PFNN_VALIDATE_EVERY = 5
"""Epochs of the PFNN from one closed-loop validation to the next, since one takes as long as an epoch."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = subparsers.add_parser("train", help="train a model from a data folder")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with index.json and clips/; nsm: also one of BVH or ASF/AMC files, or what data compose wrote",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="weights to write (.safetensors)")
    parser.add_argument("--run", type=Path, metavar="DIR", help="folder of the checkpoint; default runs/NAME")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=count_or_none, default=1)
    parser.add_argument("--epochs", nargs="+", type=count_or_none, metavar="N",
                        help=f"pfnn: how many ({_PFNN_EPOCHS}); autoencoder: those of each stage")  # fmt: skip
    parser.add_argument("--hidden", type=count, metavar="N",
                        help=f"units of a hidden layer; pfnn: {_PFNN_HIDDEN}, nsm: 256 by default")  # fmt: skip
    scene = parser.add_argument_group("nsm")
    scene.add_argument("--episodes", type=count, metavar="N",
                       help=f"composed of the captures in DIR (default {train_nsm.EPISODES})")  # fmt: skip
    compose.add_making(scene)
    scene.add_argument("--validate", type=count_or_none, default=3, metavar="N",
                       help="epochs from one closed-loop validation to the next (default 3); 0: none")  # fmt: skip
    train_nsm.add_arguments(scene)
    train_nsm.add_start(parser.add_argument_group("nsm and pfnn"))
    pfnn = parser.add_argument_group("pfnn")
    pfnn.add_argument("--subjects", nargs="*", default=[], help="use only these performers' clips")
    pfnn.add_argument("--warps", nargs="*", type=positive, default=[1.15], help="also play every clip at these speeds")
    pfnn.add_argument("--terrain", type=count, metavar="N",
                      help="learn many performers on any ground, fitted from N patches (1500 are good); performers are "
                           "held out")  # fmt: skip
    pfnn.add_argument("--leave-out", nargs="+", default=[], metavar="CLIP", help="with --terrain: clips not to use")
    manifold = parser.add_argument_group("the motion manifold")
    manifold.add_argument("--steps", type=count, help="of footsteps, locomotion and end-effectors")
    manifold.add_argument("--autoencoder", type=Path, metavar="FILE",
                          help="the autoencoder to train for (default: the one that is shipped)")  # fmt: skip
    parser.add_argument("--test-subjects", type=Path, metavar="FILE.json",
                          help='held-out performers; default: "test" of split.json in DIR')  # fmt: skip
    manifold.add_argument("--validation", nargs="+", default=[], metavar="NAME",
                          help="performers left out; the autoencoder is measured on them as it learns")  # fmt: skip
    manifold.add_argument("--no-pooling", action="store_true",
                          help="autoencoder, locomotion: train without pooling, for evaluate --compare")  # fmt: skip
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Train and write weights and card. Raises UserError before training when the arguments are at fault."""
    if args.out.suffix != ".safetensors":
        raise UserError(f"{args.out}: the weights file must end in .safetensors.")
    if args.system != "nsm" and (given := train_nsm.network_command(args)):
        raise UserError(f"{given[0]} belongs to nsm; leave it out.")
    if args.system not in ("nsm", "pfnn") and (given := train_nsm.start_command(args)):
        raise UserError(f"{given[0]} belongs to nsm and pfnn; leave it out.")
    if args.kept and args.start is None:
        raise UserError("--kept is the share of the weights of --from; name these too.")
    if args.epochs is not None and not sum(args.epochs):
        raise UserError("--epochs 0 trains nothing; give at least 1.")
    _check_places(args)
    if args.system != "nsm" and "LOCAL_RANK" in os.environ:
        raise UserError(f"torchrun is for nsm; train {args.system} with nsm-blender train {args.system}.")
    if args.system == "pfnn":
        _train_pfnn(args)
    elif args.system == "nsm":
        if not _train_nsm(args):
            return 0
    elif args.system == "sway":
        _train_sway(args)
    else:
        _train_manifold(args)
    print(f"wrote {args.out} and {args.out.with_suffix('.json').name}")
    return 0


def _check_places(args: argparse.Namespace) -> None:
    """Raise UserError when weights, card or run cannot be written, or there is no run to resume."""
    check_writable(args.out)
    check_writable(args.out.with_suffix(".json"))
    if args.system in ("styles", "sway"):
        return
    if not is_folder(args.data):
        raise UserError(f"{args.data}: there is no such folder.")
    folder = args.run or Path("runs") / args.out.stem
    check_folder(folder)
    if args.resume:
        from ..training.loop import check_resumable

        check_resumable(folder if args.rounds == 1 else train_nsm.first_round(folder))


def _train_nsm(args: argparse.Namespace) -> bool:
    """Train, with the other processes that torchrun started. Returns whether it was this one that wrote the weights."""
    from ..training import distributed

    with distributed.joined(_device(args)) as device:
        train_nsm.train(args, _command(args), device)
        return distributed.is_first()


def _train_sway(args: argparse.Namespace) -> None:
    """The postural sway, which is fitted at once."""
    from ..training import cards, sway

    for name in ("epochs", "steps", "hidden"):
        if getattr(args, name) is not None:
            raise UserError(f"The sway is fitted at once; leave --{name} out.")
    held_out = [
        *cards.test_subjects(args.data, args.test_subjects),
        *cards.unsure_subjects(args.data, args.test_subjects),
    ]
    sway.train(args.data, args.out, held_out, _command(args))


def _train_manifold(args: argparse.Namespace) -> None:
    """Train one of the manifold's networks, or take its styles."""
    from ..training import cards, manifold

    if args.subjects:
        raise UserError("--subjects belongs to pfnn; the manifold holds performers out with --test-subjects.")
    if args.hidden is not None:
        raise UserError("--hidden belongs to pfnn and nsm; the manifold's networks have the paper's sizes.")
    if args.epochs is not None and args.system != "autoencoder":
        raise UserError(f"{args.system} is not trained in epochs; give --steps.")
    if args.no_pooling and args.system not in ("autoencoder", "locomotion"):
        raise UserError(f"{args.system} cannot be trained without pooling; only autoencoder and locomotion can.")
    run = manifold.Run(
        args.data,
        args.out,
        args.run or Path("runs") / args.out.stem,
        _command(args),
        cards.test_subjects(args.data, args.test_subjects),
        cards.unsure_subjects(args.data, args.test_subjects),
        args.validation,
        args.seed,
        _device(args),
        args.resume,
        args.epochs,
        args.steps,
        args.autoencoder,
        not args.no_pooling,
    )
    print(f"held out: {run.held_out}")
    manifold.RUNS[args.system](run)


def _train_pfnn(args: argparse.Namespace) -> None:
    """The PFNN: the best epoch is chosen by closed-loop rollouts."""
    from ..evaluation.validation import of_tensors
    from ..models.weights import read_tensors
    from ..training import cards, pfnn, pfnn_data
    from ..training.loop import Training
    from ..training.terrain import data as terrain

    if args.epochs is not None and len(args.epochs) != 1:
        raise UserError("The PFNN trains in one stage; give one number of epochs.")
    args.epochs = args.epochs or [_PFNN_EPOCHS]
    args.hidden = args.hidden or _PFNN_HIDDEN
    settings = pfnn.Settings(hidden=args.hidden, epochs=args.epochs[0], seed=args.seed)
    if args.rate is not None:
        settings.learning_rate = args.rate
    if args.lengths is not None:
        settings.lengths = args.lengths
    settings.kept = args.kept or 0.0
    earlier = None if args.start is None else read_tensors(args.start)
    folder = args.run or Path("runs") / args.out.stem
    ground = None
    if args.terrain is None:
        data = pfnn_data.build(args.data, args.subjects, args.warps, earlier)
    else:
        held_out = cards.test_subjects(args.data, args.test_subjects)
        unsure = cards.unsure_subjects(args.data, args.test_subjects)
        ground = terrain.build(
            args.data,
            args.subjects,
            held_out,
            unsure,
            args.warps,
            args.terrain,
            args.seed,
            args.leave_out,
            earlier,
        )
        data = ground.data
    print(
        f"{len(data.clips)} clips, {sum(data.minutes.values()):.1f} minutes recorded, "
        f"{len(data.train.x)} frames with mirrored and warped ones"
    )
    trainer = (
        pfnn.Trainer(data, settings, folder, _device(args), args.resume, earlier)
        if ground is None
        else pfnn.GroundTrainer(ground, settings, folder, _device(args), args.resume, earlier)
    )

    def validate(training: Training) -> dict[str, float]:
        return of_tensors(lambda path: cards.save_weights(training.export(), path))

    cards.save_weights(trainer.run(validate=validate, every=_PFNN_VALIDATE_EVERY), args.out)
    _pfnn_card(args, data, trainer, ground)


def _pfnn_card(args: argparse.Namespace, data: Any, trainer: Any, ground: Any) -> None:
    """The model card: what was trained, on what, how, and what came out."""
    from ..models.pfnn import OUTPUT, input_layout
    from ..motion.clip_file import load_library
    from ..training import cards

    used = {e.name: e for e in load_library(args.data)}
    cards.write_card(
        args.out,
        "pfnn",
        "Holden, Komura, Saito: Phase-Functioned Neural Networks for Character Control, 2017",
        cards.data_section(
            [used[name] for name in data.clips],
            ["mirrored in the sagittal plane", *(f"played at {w:g} times the speed" for w in args.warps)],
            "the last 8 % of every clip" if ground is None else f"performers {', '.join(ground.held_out)}",
            recorded_minutes_by_kind={k: round(v, 2) for k, v in data.minutes.items()},
            frames_after_augmentation=len(data.train.x),
        ),
        cards.training_section(
            _command(args),
            args.seed,
            trainer.history,
            hidden=args.hidden,
            epochs=args.epochs[0],
            chosen_epoch=trainer.best_epoch,
            **({} if args.start is None else {"begun_with": train_nsm.begun_with(args.start)}),
        ),
        terrain="flat ground only; the terrain inputs are in the layout and their weights are zero"
        if ground is None
        else {"patches": args.terrain, "fit_errors": ground.errors},
        performer="" if ground is None else ground.performer,
        performers={} if ground is None else ground.performers,
        performer_gaits={} if ground is None else ground.gaits,
        layout={"input": input_layout(data.train.x.shape[1]).describe(), "output": OUTPUT.describe()},
    )


def _command(args: argparse.Namespace) -> list[str]:
    """What repeats this training."""
    command = ["nsm-blender", "train", args.system, "--data", "DIR", "--out", f"weights/{args.out.name}"]
    command += ["--seed", str(args.seed)] if args.system != "sway" else []
    if args.epochs is not None:
        command += ["--epochs", *map(str, args.epochs)]
    if args.hidden is not None:
        command += ["--hidden", str(args.hidden)]
    if args.system == "pfnn":
        command += train_nsm.start_command(args)
        command += ["--subjects", *args.subjects] if args.subjects else []
        command += ["--leave-out", *args.leave_out] if args.leave_out else []
        command += ["--terrain", str(args.terrain)] if args.terrain is not None else []
        return command + (["--warps", *(f"{w:g}" for w in args.warps)] if args.warps else [])
    if args.test_subjects is not None:
        command += ["--test-subjects", args.test_subjects.name]
    if args.system == "nsm":
        command += ["--episodes", str(args.episodes)] if args.episodes is not None else []
        command += ["--walks", str(args.walks)] + (["--rollouts", str(args.rollouts)] if args.rollouts else [])
        command += ["--rounds", str(args.rounds)] if args.rounds > 1 else []
        return [*command, *train_nsm.network_command(args), *train_nsm.start_command(args)]
    if args.steps is not None:
        command += ["--steps", str(args.steps)]
    if args.autoencoder is not None:
        command += ["--autoencoder", f"weights/{args.autoencoder.name}"]
    if args.no_pooling:
        command += ["--no-pooling"]
    if args.validation:
        command += ["--validation", *args.validation]
    return command


def _device(args: argparse.Namespace) -> str:
    import torch

    if args.device != "auto":
        return str(args.device)
    return "cuda" if torch.cuda.is_available() else "cpu"
