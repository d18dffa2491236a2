# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender train`: train a model on a folder of clips and write weights with a model card."""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from ..errors import UserError

SYSTEMS = ("nsm", "pfnn", "autoencoder", "locomotion", "footsteps", "end-effectors")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command line."""
    parser = subparsers.add_parser("train", help="train a model from a data folder")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with index.json and clips/")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="weights to write (.safetensors)")
    parser.add_argument("--run", type=Path, metavar="DIR", help="folder of the checkpoint; default runs/NAME")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--subjects", nargs="*", default=[], help="use only these performers' clips")
    parser.add_argument("--warps", nargs="*", type=float, default=[1.15], help="also play every clip at these speeds")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Train, choose the best epoch by closed-loop rollouts, write weights and card."""
    if args.system != "pfnn":
        raise UserError(f"This version trains pfnn; {args.system} is not part of it yet.")
    import torch

    from ..evaluation.validation import of_tensors
    from ..training import pfnn, pfnn_data

    device = args.device if args.device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    data = pfnn_data.build(args.data, args.subjects, args.warps)
    print(
        f"{len(data.clips)} clips, {sum(data.minutes.values()):.1f} minutes recorded, "
        f"{len(data.train.x)} frames with mirrored and warped ones"
    )
    settings = pfnn.Settings(
        hidden=args.hidden, epochs=args.epochs, seed=args.seed, subjects=args.subjects, warps=args.warps
    )
    folder = args.run or Path("runs") / args.out.stem
    trainer = pfnn.Trainer(data, settings, folder, device, args.resume)
    tensors = trainer.run(lambda t: of_tensors(lambda path: pfnn.save_weights(t, path)))
    pfnn.save_weights(tensors, args.out)
    card = _card(args, data, trainer)
    args.out.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {args.out} and {args.out.with_suffix('.json').name}")
    return 0


def _card(args: argparse.Namespace, data: Any, trainer: Any) -> dict[str, Any]:
    """The model card: what was trained, on what, how, and what came out."""
    from ..models.pfnn import INPUT, OUTPUT
    from ..motion.clip_file import load_library
    from ..training.pfnn import current_commit

    used = {e.name: e for e in load_library(args.data) if e.name in set(data.clips)}
    command = [
        "nsm-blender",
        "train",
        "pfnn",
        "--data",
        "DIR",
        "--out",
        f"weights/{args.out.name}",
        "--epochs",
        str(args.epochs),
        "--seed",
        str(args.seed),
    ]
    if args.subjects:
        command += ["--subjects", *args.subjects]
    if args.warps:
        command += ["--warps", *(f"{w:g}" for w in args.warps)]
    return {
        "model": "pfnn",
        "paper": "Holden, Komura, Saito: Phase-Functioned Neural Networks for Character Control, 2017",
        "licence": "GPL-3.0-or-later",
        "data": {
            "clips": data.clips,
            "licences": sorted({e.licence for e in used.values()}),
            "subjects": sorted({e.subject for e in used.values()}),
            "recorded_minutes_by_kind": {k: round(v, 2) for k, v in data.minutes.items()},
            "augmentation": [
                "mirrored in the sagittal plane",
                *(f"played at {w:g} times the speed" for w in args.warps),
            ],
            "held_out": "the last 8 % of every clip",
            "frames_after_augmentation": len(data.train.x),
        },
        "terrain": "flat ground only; the terrain inputs are in the layout and their weights are zero",
        "layout": {"input": INPUT.describe(), "output": OUTPUT.describe()},
        "training": {
            "command": shlex.join(command),
            "commit": current_commit(),
            "seed": args.seed,
            "hidden": args.hidden,
            "epochs": args.epochs,
            "chosen_epoch": trainer.best.get("epoch"),
            "date": datetime.date.today().isoformat(),
            "python": sys.version.split()[0],
            "history": [{k: round(v, 4) for k, v in row.items() if k != "seconds"} for row in trainer.history],
        },
        "results": {},
    }
