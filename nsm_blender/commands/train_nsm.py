# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender train nsm`: from recordings or composed episodes to weights with a card."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import UserError
from ..files.reading import read_json
from ..models.nsm import ACTIONS, ENCODERS, GOAL_ACTIONS
from ..models.nsm_baselines import NETWORKS
from ..models.weights import file_hash, read_card, read_tensors
from ..motion.clip_file import INDEX_NAME
from ..training.episodes.library import Tally
from ..training.nsm_data import KINDS, Packed, standing_frame
from ..training.nsm_settings import Settings
from . import count, positive, share
from .compose import DATA, compose_all
from .importing import import_folder

EPISODES = 3000
"""Number of episodes that are composed for a training, unless told otherwise."""
EPISODES_FOLDER = "episodes"
"""Folder of a run with the episodes that were composed for it."""
SENSORS = ("interaction", "environment")
"""Inputs that a network can be trained without, as in the paper's ablations."""
PAPER = "Starke, Zhang, Komura, Saito: Neural State Machine for Character-Scene Interactions, 2019"
_ABLE = {"sit": ["sit"], "carry": ["pick_up", "put_down"], "open": ["open"], "climb": ["climb"]}
"""Actions of keys that episodes of each kind teach."""


def add_arguments(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """What `train nsm` begins with, leaves out of the network or makes smaller; nothing of it is set by default."""
    parser.add_argument("--network", choices=NETWORKS,
                        help="another network on the same inputs and outputs, with as many numbers as an NSM of these "
                        "sizes, to compare with (default nsm)")  # fmt: skip
    parser.add_argument("--without", nargs="+", choices=SENSORS, metavar="SENSOR",
                        help="leave sensors out, as in the paper's ablations: interaction, environment")  # fmt: skip
    parser.add_argument("--gating", choices=("kronecker", "concatenation"),
                        help="how the phase enters the gating (default kronecker)")  # fmt: skip
    parser.add_argument("--encoders", nargs=len(ENCODERS), type=count, metavar="N",
                        help=f"units of the encoders of {', '.join(ENCODERS)} (default 256 64 128 256)")  # fmt: skip
    parser.add_argument("--batch", type=count, metavar="N", help="frames in a step (default 1024)")
    parser.add_argument("--far-astray", action="store_true", default=None,
                        help="let sequences that come to a thing begin 10 to 30 cm beside their recording, led back "
                        "three times as fast: the network alone comes closer to seats, but slides more")  # fmt: skip
    parser.add_argument("--vague-goals", type=positive, metavar="METERS",
                        help="tell the goals of things as far beside where they are, which the sensors show (standard "
                        "deviation along each axis; default: goals are exact)")  # fmt: skip
    parser.add_argument("--gradient", type=count, metavar="N",
                        help="frames after which gradients are cut (default 8)")  # fmt: skip
    parser.add_argument("--compile", action="store_true", help="let torch compile the network, where it can")
    parser.add_argument("--first-cycle", type=count, metavar="N",
                        help="epochs before the first warm restart; each cycle is twice as long as the one before "
                        "(default 3)")  # fmt: skip
    parser.add_argument("--rounds", type=count, default=1, metavar="N",
                        help="trainings, each of which composes its part of the episodes and goes on from the weights "
                        "before, whose ways --rollouts then takes: so the network learns from its own failures "
                        "(default 1)")  # fmt: skip
    parser.add_argument("--teach", choices=ACTIONS, metavar="ACTION",
                        help="learn an action with experts that are added to those of --from, and leave whatever else "
                        "these do as it is; DIR holds composed episodes of the action")  # fmt: skip
    parser.add_argument("--toward", choices=GOAL_ACTIONS, metavar="ACTION",
                        help="of what --teach names only what is done while the goal asks for this: carry toward idle "
                        "puts down")  # fmt: skip


def add_start(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """What a training of the NSM or the PFNN goes on from, and how it does."""
    parser.add_argument("--rate", type=positive, metavar="R", help="the highest learning rate (default 0.001)")
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE",
                        help="go on from these weights, of the same sizes, in place of random ones")  # fmt: skip
    parser.add_argument("--kept", type=share, metavar="SHARE",
                        help="share of the weights of --from in those that are written, 0 to 1 (default 0): the mean "
                        "of the two, weighted so, is more precise than either")  # fmt: skip
    parser.add_argument("--lengths", nargs="+", type=count, metavar="N",
                        help="frames of the sequences in which the network goes on from its own output, over equal "
                        "parts of the run (default: nsm 1 8 16 32, pfnn 1)")  # fmt: skip


def network_command(args: argparse.Namespace) -> list[str]:
    """The arguments of `add_arguments` that were given."""
    out: list[str] = []
    for name in ("network", "without", "gating", "encoders", "batch", "vague_goals", "gradient",
                 "first_cycle", "teach", "toward"):  # fmt: skip
        value = getattr(args, name)
        if value is not None:
            out += ["--" + name.replace("_", "-"), *map(str, value if isinstance(value, list) else [value])]
    out += ["--far-astray"] if args.far_astray else []
    return out + (["--compile"] if args.compile else [])


def start_command(args: argparse.Namespace) -> list[str]:
    """The arguments of `add_start` that were given."""
    out = [] if args.rate is None else ["--rate", str(args.rate)]
    out += [] if args.start is None else ["--from", f"weights/{args.start.name}"]
    out += [] if args.kept is None else ["--kept", str(args.kept)]
    return out if args.lengths is None else [*out, "--lengths", *map(str, args.lengths)]


@dataclass(frozen=True)
class _Round:
    """One of several trainings, each of which goes on from the one before, on its episodes and those of the new round.
    number: from 0. run: its folder. start: the weights that it goes on from, if any. out: those that it writes."""

    number: int
    run: Path
    start: Path | None
    out: Path

    @property
    def episodes(self) -> Path:
        """Folder of the episodes that are composed for it."""
        return self.run / EPISODES_FOLDER


def train(args: argparse.Namespace, command: Sequence[str], device: str) -> None:
    """Train and write weights and card. DIR holds motion captures, of which the episodes that are missing are composed
    in the folder of the run; or composed episodes. A later round composes with the weights of the one before, and
    learns from the episodes of all so far (DAgger; Ross et al. 2011).

    Of several processes the first alone composes and writes; all read the same folders.
    """
    from ..training import distributed

    run: Path = args.run or Path("runs") / args.out.stem
    if args.teach and (args.start is None or args.kept):
        raise UserError("--teach adds to the weights of --from and keeps these whole: name them, and leave --kept out.")
    if args.toward and not args.teach:
        raise UserError("--toward says more of what --teach names; name that, too.")
    if _parts(args.data):
        if args.rounds > 1:
            raise UserError(f"{args.data}: holds composed episodes, and --rounds composes new ones; give recordings.")
        _fit(args, command, device, _Round(0, run, args.start, args.out), [args.data], [])
        return
    rounds, figures = _rounds(args, run), list[dict[str, Any]]()
    for this in rounds:
        if distributed.is_first():
            _compose_for(args, run, this, -(-(args.episodes or EPISODES) // len(rounds)))
        distributed.wait()
        _fit(args, command, device, this, [r.episodes for r in rounds[: this.number + 1]], figures)
        distributed.wait()
        figures = read_card(this.out)["training"]["rounds"]


def first_round(run: Path) -> Path:
    """Folder of the first of several rounds of a run."""
    return run / "round_1"


def _rounds(args: argparse.Namespace, run: Path) -> list[_Round]:
    """The rounds of a run in its folder, each in one of its own; a single one has the run's."""
    if args.rounds == 1:
        return [_Round(0, run, args.start, args.out)]
    folders = [first_round(run).with_name(f"round_{number + 1}") for number in range(args.rounds)]
    outs = [folder / args.out.name for folder in folders[:-1]] + [args.out]
    return [_Round(number, *of) for number, of in enumerate(zip(folders, [args.start, *outs[:-1]], outs, strict=True))]


def _fit(
    args: argparse.Namespace,
    command: Sequence[str],
    device: str,
    this: _Round,
    composed: Sequence[Path],
    before: Sequence[Mapping[str, Any]],
) -> None:
    """Train one round on the episodes in some folders and write its weights and card. before: the figures of the
    rounds before."""
    from ..training import cards, distributed
    from ..training.loop import CHECKPOINT
    from ..training.nsm import Trainer
    from ..training.nsm_validation import validator

    folders = [part for folder in composed for part in _parts(folder)]
    sources = _sources(composed[0], folders)
    data = Packed.joined([Packed.load(folder) for folder in folders])
    kinds = {KINDS[int(number)] for number in set(data.kind.tolist())}
    settings = _settings(args)
    able = ["idle", "walk", "run", *(action for kind in KINDS if kind in kinds for action in _ABLE.get(kind, []))]
    card: dict[str, Any] = {"network": settings.network}
    if settings.teach:
        assert this.start is not None
        known = read_card(this.start)
        card |= {"standing": known["standing"], "actions": list(dict.fromkeys([*known["actions"], *able]))}
    else:
        card |= {"standing": [round(float(value), 5) for value in standing_frame(data)], "actions": able}
    # In rounds between, what the weights of --from do wrong would come back with them.
    last = this.number + 1 == args.rounds
    settings.kept = settings.kept if last else 0.0
    tensors = None if this.start is None else read_tensors(this.start)
    # A run that is resumed may have been cut off in any of its rounds.
    resume = args.resume and (args.rounds == 1 or (this.run / CHECKPOINT).is_file())
    begun = tensors if args.start is None or not settings.kept else read_tensors(args.start)
    trainer = Trainer(data, settings, this.run, None, device, resume, tensors, args.compile, begun)
    validate = validator(card) if args.validate else None
    trained = trainer.run(validate=validate, every=args.validate or 1)
    if not distributed.is_first():
        return
    cards.save_weights(trained, this.out)
    more = {} if args.start is None else {"begun_with": begun_with(args.start)}
    best = trainer.history[(trainer.best_epoch or len(trainer.history)) - 1]
    told = cards.training_section(
        command,
        args.seed,
        trainer.history,
        frames=len(data),
        settings=vars(settings),
        chosen_epoch=trainer.best_epoch,
        rounds=[*before, {"frames": len(data)} | {name: value for name, value in best.items() if name != "seconds"}],
        **more,
    )
    cards.write_card(this.out, "nsm", PAPER, sources, told, **card)


def begun_with(weights: Path) -> dict[str, Any]:
    """What a card tells about the weights that a training went on from: which they are, their data and training."""
    before = read_card(weights)
    return {"hash": file_hash(weights)} | {name: before[name] for name in ("data", "training") if name in before}


def _settings(args: argparse.Namespace) -> Settings:
    """The usual ones but for what the command line says."""
    given = {
        "epochs": None if args.epochs is None else args.epochs[0],
        "hidden": args.hidden,
        "network": args.network,
        "without": args.without,
        "gating": args.gating,
        "encoders": None if args.encoders is None else dict(zip(ENCODERS, args.encoders, strict=True)),
        "batch": args.batch,
        "lengths": args.lengths,
        "far_astray": args.far_astray,
        "vague_goals": args.vague_goals,
        "gradient": args.gradient,
        "first_cycle": args.first_cycle,
        "kept": args.kept,
        "teach": args.teach,
        "toward": args.toward,
        "learning_rate": args.rate,
    }
    return Settings(seed=args.seed, **{name: value for name, value in given.items() if value is not None})


def _parts(folder: Path) -> list[Path]:
    """The composed episodes in a folder: itself, or all that are in it."""
    if (folder / "frame.npy").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/frame.npy") if not path.parent.name.endswith("_unfinished"))


def _compose_for(args: argparse.Namespace, run: Path, this: _Round, count: int) -> None:
    """Compose what is missing for a round of a run on motion captures."""
    library: Path = args.data
    if not library.is_dir():
        raise UserError(f"{library}: there is no such folder")
    if not (library / INDEX_NAME).exists():
        library = run / "captures"
        import_folder(args.data, library)
    compose_all(args, library, this.episodes, count, args.seed + this.number, this.start)


def _sources(folder: Path, parts: Sequence[Path]) -> dict[str, Any]:
    """What was recorded, as the folder or one of its parts tells it, and how much was composed of it."""
    told = [place / DATA for place in (folder, *parts) if (place / DATA).exists()]
    if not told:
        raise UserError(
            f"{folder}: {DATA} is missing, which says what was recorded; call nsm-blender data compose for it again."
        )
    out = read_json(told[0], dict, "the sources of composed episodes")
    tally = Tally.joined([part / "tally.json" for part in parts])
    more = {"minutes_by_action": tally.minutes(), "episodes": dict(tally.episodes), "rejected": dict(tally.rejected)}
    return out | more
