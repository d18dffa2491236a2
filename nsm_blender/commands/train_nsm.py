# SPDX-License-Identifier: GPL-3.0-or-later
"""What `evaluate`, `bench`, `train` and `data compose` do for the NSM."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..models.weights import file_hash
from ..motion.clip_file import INDEX_NAME
from ..paths import weights_folder
from ..rollout.nsm_network import FILE

if TYPE_CHECKING:
    from ..training.episodes.library import Tally
    from ..training.nsm import Settings

Keep = Callable[[dict[str, float], dict[str, object]], None]

KINDS = ("walk", "sit", "carry", "open", "climb", "avoid")
"""Of episodes that can be composed."""
DATA = "data.json"
"""In a folder of composed episodes: the recordings that they are made of."""
ALL = "all"
EPISODES = 3000
"""Composed for a training, unless told otherwise."""
SENSORS = ("interaction", "environment")
"""That a network can be trained without."""
ENCODED = ("frame", "goal", "interaction", "environment")
"""Inputs that have an encoder each."""
PAPER = "Starke, Zhang, Komura, Saito: Neural State Machine for Character-Scene Interactions, 2019"
MEANINGS = {
    "bench.nsm.frame_ms": ("ms", "NSM network, one frame, one thread"),
    "bench.nsm.step_ms": ("ms", "  a step in a furnished room, sensors included"),
}
_ABLE = {"sit": ["sit"], "carry": ["pick_up", "put_down"], "open": ["open"], "climb": ["climb"]}
"""Actions of keys that episodes of each kind teach."""


def evaluated(args: argparse.Namespace, keep: Keep) -> tuple[dict[str, float], dict[str, object]]:
    """The figures, and what they were measured on; `keep` is told both so far whenever a table is done. Raises
    UserError."""
    from ..evaluation.nsm import TABLES, evaluate, picture
    from ..evaluation.nsm_ablations import hashes, trained_alike

    if args.data is not None or args.test_subjects is not None or args.compare is not None:
        raise UserError("The NSM is evaluated without recordings; leave --data, --test-subjects and --compare out.")
    weights = weights_of(args)
    if args.picture is not None:
        picture(weights, args.picture)
        print(f"wrote {args.picture}")
    unknown = sorted({*(args.tables or ())} - {*TABLES})
    if unknown:
        raise UserError(f"There is no table '{unknown[0]}' of the NSM's; choose from {', '.join(TABLES)}.")
    told: dict[str, object] = {"weights": file_hash(weights)}
    if args.ablations is not None:
        if args.tables is not None and "ablations" not in args.tables:
            raise UserError("--ablations is for the table of that name; add ablations to --tables.")
        trained_alike(args.ablations)
        told["ablations"] = hashes(args.ablations)
    figures = evaluate(
        weights,
        tables=args.tables or TABLES,
        processes=args.processes,
        ablations=args.ablations,
        keep=lambda so_far: keep(so_far, told),
    )
    return figures, told


def weights_of(args: argparse.Namespace) -> Path:
    """The weights to evaluate, by default the shipped ones."""
    given: Path | None = args.weights
    return given or weights_folder() / FILE


def benched() -> dict[str, Any]:
    """The figures of the shipped weights; none where there are none."""
    from ..evaluation.bench_nsm import measure_apart

    weights = weights_folder() / FILE
    return measure_apart(weights) if weights.exists() else {}


def add_compose(parser: argparse.ArgumentParser) -> None:
    """The arguments of `data compose`."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with index.json and clips/")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write for train nsm")
    parser.add_argument("--kind", choices=(*KINDS, ALL), required=True,
                        help="what the episodes are about; all: a balanced set, which can be gone on with")  # fmt: skip
    parser.add_argument("--count", type=int, default=200, help="how many episodes (default 200)")
    add_making(parser)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-subjects", type=Path, metavar="FILE.json",
                        help='performers left out; default: "test" of split.json in DIR')  # fmt: skip
    parser.set_defaults(handler=compose)


def add_making(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """How episodes are composed, for `data compose` and `train nsm`."""
    parser.add_argument("--walks", type=int, default=40,
                        help="walks of the PFNN that approaches are taken from (default 40)")  # fmt: skip
    parser.add_argument("--processes", type=int, default=2, help="that compose at the same time (default 2)")


def add_network(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """What `train nsm` begins with, leaves out of the network or makes smaller; nothing of it is set by default."""
    parser.add_argument("--without", nargs="+", choices=SENSORS, metavar="SENSOR",
                        help="leave sensors out, as in the paper's ablations: interaction, environment")  # fmt: skip
    parser.add_argument("--gating", choices=("kronecker", "concatenation"),
                        help="how the phase enters the gating (default kronecker)")  # fmt: skip
    parser.add_argument("--encoders", nargs=len(ENCODED), type=int, metavar="N",
                        help=f"units of the encoders of {', '.join(ENCODED)} (default 256 64 128 256)")  # fmt: skip
    parser.add_argument("--batch", type=int, metavar="N", help="frames in a step (default 1024)")
    parser.add_argument("--first-cycle", type=int, metavar="N",
                        help="epochs before the first warm restart; each cycle is twice as long as the one before "
                        "(default 3)")  # fmt: skip
    parser.add_argument("--rate", type=float, metavar="R", help="the highest learning rate (default 0.001)")
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE",
                        help="go on from these weights, of the same sizes, in place of random ones")  # fmt: skip


def network_command(args: argparse.Namespace) -> list[str]:
    """The arguments of `add_network` that were given."""
    out: list[str] = []
    for name in ("without", "gating", "encoders", "batch", "first_cycle", "rate"):
        value = getattr(args, name)
        if value is not None:
            out += ["--" + name.replace("_", "-"), *map(str, value if isinstance(value, list) else [value])]
    return out if args.start is None else [*out, "--from", f"weights/{args.start.name}"]


def compose(args: argparse.Namespace) -> int:
    """Compose episodes from recordings, and write what the network is trained on."""
    from ..training.episodes.library import Library
    from ..training.nsm_data import pack

    left_out = _left_out(args)
    if args.kind == ALL:
        _compose_all(args, args.data, args.out, args.count)
        return 0
    library = Library(args.data, left_out, args.walks, args.seed)
    episodes = list(library.episodes(args.kind, args.count))
    if not episodes:
        raise UserError(f"No episode of {args.kind} came out good enough: {_reasons(library.tally)}.")
    packed = pack(episodes, args.seed)
    packed.save(args.out)
    (args.out / "tally.json").write_text(library.tally.to_json(), encoding="utf-8")
    _tell_sources(args.data, left_out, args.out)
    print(f"{args.out}: {len(packed)} frames of {args.kind}")
    return 0


def train(args: argparse.Namespace, command: Sequence[str], device: str) -> None:
    """Train and write weights and card. DIR holds motion captures, of which the episodes that are missing are composed
    in the folder of the run; or composed episodes."""
    from ..models.weights import read_tensors
    from ..training import cards
    from ..training.nsm import Trainer
    from ..training.nsm_data import KINDS as NUMBERED
    from ..training.nsm_data import Packed, standing_frame
    from ..training.nsm_validation import validator

    run: Path = args.run or Path("runs") / args.out.stem
    composed = args.data if _parts(args.data) else _compose_for(args, run)
    folders = _parts(composed)
    sources = _sources(composed, folders)
    data = Packed.joined([Packed.load(folder) for folder in folders])
    kinds = {NUMBERED[int(number)] for number in set(data.kind.tolist())}
    card: dict[str, Any] = {
        "standing": [round(float(value), 5) for value in standing_frame(data)],
        "actions": [
            "idle",
            "walk",
            "run",
            *(action for kind in KINDS if kind in kinds for action in _ABLE.get(kind, [])),
        ],
    }
    settings = _settings(args)
    tensors = None if args.start is None else read_tensors(args.start)
    trainer = Trainer(data, settings, run, device=device, resume=args.resume, tensors=tensors)
    validate = validator(card) if args.validate else None
    cards.save_weights(trainer.run(validate=validate, every=args.validate or 1), args.out)
    more = {} if args.start is None else {"begun_with": _begun_with(args.start)}
    told = cards.training_section(
        command,
        args.seed,
        trainer.history,
        frames=len(data),
        settings=vars(settings),
        chosen_epoch=trainer.best_epoch,
        **more,
    )
    cards.write_card(args.out, "nsm", PAPER, sources, told, **card)


def _begun_with(weights: Path) -> dict[str, Any]:
    """What a card tells about the weights that a training went on from: which they are, their data and training."""
    out: dict[str, Any] = {"hash": file_hash(weights)}
    card = weights.with_suffix(".json")
    if card.exists():
        before = json.loads(card.read_text(encoding="utf-8"))
        out |= {name: before[name] for name in ("data", "training") if name in before}
    return out


def _settings(args: argparse.Namespace) -> Settings:
    """The usual ones but for what the command line says."""
    from ..training.nsm import Settings

    given = {
        "epochs": None if args.epochs is None else args.epochs[0],
        "hidden": args.hidden,
        "without": args.without,
        "gating": args.gating,
        "encoders": None if args.encoders is None else dict(zip(ENCODED, args.encoders, strict=True)),
        "batch": args.batch,
        "first_cycle": args.first_cycle,
        "learning_rate": args.rate,
    }
    return Settings(seed=args.seed, **{name: value for name, value in given.items() if value is not None})


def _left_out(args: argparse.Namespace) -> frozenset[str]:
    """Performers that nothing is trained on."""
    from ..training import cards

    test = cards.test_subjects(args.data, args.test_subjects)
    return frozenset({*test, *cards.unsure_subjects(args.data, args.test_subjects)})


def _parts(folder: Path) -> list[Path]:
    """The composed episodes in a folder: itself, or all that are in it."""
    if (folder / "frame.npy").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/frame.npy") if not path.parent.name.endswith("_unfinished"))


def _compose_for(args: argparse.Namespace, run: Path) -> Path:
    """Compose what is missing for a run on motion captures; returns the folder."""
    from .data import import_folder

    library: Path = args.data
    if not library.is_dir():
        raise UserError(f"{library}: there is no such folder")
    if not (library / INDEX_NAME).exists():
        library = run / "captures"
        import_folder(args.data, library)
    _compose_all(args, library, run / "episodes", EPISODES if args.episodes is None else args.episodes)
    return run / "episodes"


def _compose_all(args: argparse.Namespace, library: Path, out: Path, count: int) -> None:
    """A balanced set of what the recordings show."""
    from ..training.episodes.library import kinds_shown
    from ..training.episodes.parts import SHARES, Recipe
    from ..training.episodes.parts import compose as compose_parts

    left_out = _left_out(args)
    shown = kinds_shown(library, left_out)
    for kind in (kind for kind in KINDS if kind not in shown):
        print(f"no episodes of {kind}: nobody to train on does that in {library}")
    shares = {kind: share for kind, share in SHARES.items() if kind in shown}
    recipe = Recipe(library, count, left_out, walks=args.walks, seed=args.seed, shares=shares)
    tally = compose_parts(recipe, out, args.processes)
    if not tally.episodes:
        raise UserError(f"{out}: no episode came out good enough: {_reasons(tally)}.")
    _tell_sources(library, left_out, out)
    print(f"{out}: {sum(tally.episodes.values())} episodes, minutes by action:")
    for action, minutes in tally.minutes().items():
        print(f"  {action:6} {minutes['recorded']:8.2f} recorded {minutes['composed']:8.2f} composed")


def _reasons(tally: Tally) -> str:
    """Why episodes were rejected, and how often."""
    return ", ".join(f"{reason} ({count})" for reason, count in tally.rejected.most_common()) or "none was asked for"


def _tell_sources(library: Path, left_out: frozenset[str], out: Path) -> None:
    """Write which recordings the episodes in `out` are made of."""
    from ..motion.clip_file import load_library
    from ..training import cards
    from ..training.episodes.library import used_clips

    names = used_clips(library, left_out)
    entries = [entry for entry in load_library(library) if entry.name in names]
    told = cards.data_section(
        entries, ["composed with furniture, doors and boxes made by code"], "performers of the test"
    )
    (out / DATA).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _sources(folder: Path, parts: Sequence[Path]) -> dict[str, Any]:
    """What was recorded, as the folder or one of its parts tells it, and how much was composed of it."""
    from ..training.episodes.library import Tally

    told = [place / DATA for place in (folder, *parts) if (place / DATA).exists()]
    if not told:
        raise UserError(
            f"{folder}: {DATA} is missing, which says what was recorded; call nsm-blender data compose for it again."
        )
    out: dict[str, Any] = json.loads(told[0].read_text(encoding="utf-8"))
    tally = Tally.joined([(part / "tally.json").read_text(encoding="utf-8") for part in parts])
    more = {"minutes_by_action": tally.minutes(), "episodes": dict(tally.episodes), "rejected": dict(tally.rejected)}
    return out | more
