# SPDX-License-Identifier: GPL-3.0-or-later
"""What `evaluate`, `bench`, `train` and `data compose` do for the NSM."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..control.scene_network import FILE
from ..errors import UserError
from ..models.weights import file_hash
from ..paths import weights_folder

KINDS = ("walk", "sit", "carry", "open", "climb", "avoid")
"""Of episodes that can be composed."""
DATA = "data.json"
"""In a folder of composed episodes: the recordings that they are made of."""
PAPER = "Starke, Zhang, Komura, Saito: Neural State Machine for Character-Scene Interactions, 2019"
MEANINGS = {
    "bench.nsm.frame_ms": ("ms", "NSM network, one frame, one thread"),
    "bench.nsm.step_ms": ("ms", "  a step in a furnished room, sensors included"),
}
_EPOCHS = 30
_ABLE = {"sit": ["sit"], "carry": ["pick_up", "put_down"], "open": ["open"], "climb": ["climb"]}
"""Actions of keys that episodes of each kind teach."""


def evaluated(args: argparse.Namespace) -> tuple[dict[str, float], dict[str, object]]:
    """The figures, and what they were measured on. Raises UserError."""
    from ..evaluation.nsm import evaluate, picture

    if args.data is not None or args.test_subjects is not None or args.compare is not None:
        raise UserError("The NSM is evaluated without recordings; leave --data, --test-subjects and --compare out.")
    weights = weights_of(args)
    if args.picture is not None:
        picture(weights, args.picture)
        print(f"wrote {args.picture}")
    return evaluate(weights), {"weights": file_hash(weights)}


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
    parser.add_argument("--kind", choices=KINDS, required=True, help="what the episodes are about")
    parser.add_argument("--count", type=int, default=200, help="how many episodes (default 200)")
    parser.add_argument("--walks", type=int, default=40, help="walks of the PFNN that approaches are taken from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-subjects", type=Path, metavar="FILE.json",
                        help='performers left out; default: "test" of split.json in DIR')  # fmt: skip
    parser.set_defaults(handler=compose)


def compose(args: argparse.Namespace) -> int:
    """Compose episodes of one kind from recordings, and write what the network is trained on."""
    from ..motion.clip_file import load_library
    from ..training import cards
    from ..training.episodes.library import Library
    from ..training.nsm_data import pack

    left_out = {
        *cards.test_subjects(args.data, args.test_subjects),
        *cards.unsure_subjects(args.data, args.test_subjects),
    }
    library = Library(args.data, frozenset(left_out), args.walks, args.seed)
    packed = pack(library.episodes(args.kind, args.count), args.seed)
    packed.save(args.out)
    (args.out / "tally.json").write_text(library.tally.to_json(), encoding="utf-8")
    entries = [entry for entry in load_library(args.data) if entry.subject not in left_out]
    told = cards.data_section(
        entries, ["composed with furniture, doors and boxes made by code"], "performers of the test"
    )
    (args.out / DATA).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"{args.out}: {len(packed)} frames of {args.kind}")
    return 0


def train(args: argparse.Namespace, command: Sequence[str], device: str) -> None:
    """Train on folders that `data compose` wrote (DIR itself, or all folders in it); write weights and card."""
    from ..training import cards
    from ..training.nsm import Settings, Trainer
    from ..training.nsm_data import KINDS as NUMBERED
    from ..training.nsm_data import Packed, standing_frame

    folders = (
        [args.data] if (args.data / "frame.npy").exists() else sorted(p.parent for p in args.data.glob("*/frame.npy"))
    )
    if not folders:
        raise UserError(f"{args.data}: there are no composed episodes; make some with nsm-blender data compose.")
    data = Packed.joined([Packed.load(folder) for folder in folders])
    settings = Settings(epochs=_EPOCHS if args.epochs is None else args.epochs[0], seed=args.seed)
    trainer = Trainer(data, settings, args.run or Path("runs") / args.out.stem, device=device, resume=args.resume)
    cards.save_weights(trainer.run(), args.out)
    kinds = {NUMBERED[int(number)] for number in set(data.kind.tolist())}
    cards.write_card(
        args.out,
        "nsm",
        PAPER,
        _sources(folders),
        cards.training_section(command, args.seed, trainer.history, frames=len(data), settings=vars(settings)),
        standing=[round(float(value), 5) for value in standing_frame(data)],
        actions=["idle", "walk", "run", *(action for kind in KINDS if kind in kinds for action in _ABLE.get(kind, []))],
    )


def _sources(folders: Sequence[Path]) -> dict[str, Any]:
    """What the recordings were, as the first folder tells it, and how much was composed of them in each."""
    told = [folder for folder in folders if (folder / DATA).exists()]
    if not told:
        raise UserError(f"{folders[0]}: {DATA} is missing, which says what was recorded; compose the episodes again.")
    out: dict[str, Any] = json.loads((told[0] / DATA).read_text(encoding="utf-8"))
    tallies = {
        f.name: json.loads((f / "tally.json").read_text(encoding="utf-8"))
        for f in folders
        if (f / "tally.json").exists()
    }
    return out | {"composed": tallies}
