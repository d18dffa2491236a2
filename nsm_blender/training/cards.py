# SPDX-License-Identifier: GPL-3.0-or-later
"""What every training writes beside its weights: the model card; and which performers are held out."""

from __future__ import annotations

import datetime
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ..errors import UserError
from ..files import make_folder, read_json, write_whole
from ..motion.clip_file import LibraryEntry
from ..motion.rotations import Array

SPLIT_NAME = "split.json"
"""File of a data folder whose "test" list names the performers that are held out."""
_PRECISE = {"mean", "scale", "rotation_reference", "profile", "target"}
"""Tensors that stay float32: normalization spans a wide range, and places and references shall be exact."""
_OWN_LICENCE = "GPL-3.0-or-later"
"""Licence of weights from data that asks for nothing but acknowledgement."""
_SHARE_ALIKE = "CC BY-SA"
"""Words in the licence of data whose adaptations must be shared alike."""
_SHARED_LICENCE = (
    "CC-BY-SA-4.0: some of the data is CC BY-SA 3.0, which lets adaptations take this later version; Creative Commons "
    "allows works under CC BY-SA 4.0 to be used in works under GPL-3.0"
)
"""Licence of weights from such data, and the reason for it."""
_ACKNOWLEDGEMENTS = {
    "CMU Graphics Lab": "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created "
    "with funding from NSF EIA-0196217.",
    "HDM05": "The data used in this project was obtained from HDM05. M. Müller, T. Röder, M. Clausen, B. Eberhardt, "
    "B. Krüger, A. Weber: Documentation Mocap Database HDM05, CG-2007-2, Universität Bonn, 2007.",
    "ACCAD": "Motion capture data by ACCAD, The Ohio State University (CC BY 3.0), converted.",
    "100STYLE": "I. Mason, S. Starke, T. Komura: Real-Time Style Modelling of Human Locomotion via Feature-Wise "
    "Transformations and Local Motion Phases, 2022 (CC BY 4.0), converted.",
}
"""What the sources ask to be said beside what was made of them, by a word of their licence."""


def test_subjects(data: Path, file: Path | None) -> list[str]:
    """Performers held out: those of `file`, a JSON list or an object with a list "test", or of the data folder's
    split.json; none where there is neither. Raises UserError when the file is not one."""
    path = _split_file(data, file)
    return [] if path is None else _performers(path, "test")


def unsure_subjects(data: Path, file: Path | None) -> list[str]:
    """Performers, named as in `test_subjects`, that may be held-out ones under another name: the list "unsure".
    They are neither trained nor tested on. Raises UserError when the file is not one."""
    path = _split_file(data, file)
    return [] if path is None else _performers(path, "unsure", needed=False)


def _split_file(data: Path, file: Path | None) -> Path | None:
    path = file or data / SPLIT_NAME
    return None if file is None and not path.is_file() else path


def _performers(path: Path, key: str, needed: bool = True) -> list[str]:
    """A list of performers in a JSON file; a file that is a list by itself has only "test"."""
    content = read_json(path, object, "a list of performers", UserError)
    told = content if isinstance(content, dict) else {"test": content}
    names = told.get(key, None if needed else [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f'{path}: neither a list of performers nor an object with such a list as "{key}".')
    return names


def save_weights(tensors: Mapping[str, Array], path: Path) -> None:
    """Write float16 safetensors; what must be precise stays float32."""
    packed = {
        name: np.ascontiguousarray(value, dtype=np.float32 if _is_precise(name) else np.float16)
        for name, value in tensors.items()
    }
    make_folder(path.parent)
    write_whole(path, save(packed))


def _is_precise(name: str) -> bool:
    return name in _PRECISE or name.endswith(("_mean", "_scale"))


def current_commit() -> str:
    """The commit that trains, with "+" when the working tree differs; "unknown" outside a checkout."""
    here = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            ["git", "status", "--porcelain", "-uno", "nsm_blender"],
            cwd=here.parent.parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def data_section(
    entries: Sequence[LibraryEntry], augmentation: Sequence[str], held_out: str, **more: Any
) -> dict[str, Any]:
    """What was trained on: clips, licences and performers as the library names them, and what the sources ask for."""
    licences = sorted({entry.licence for entry in entries})
    return {
        "clips": [entry.name for entry in entries],
        "licences": licences,
        "acknowledgements": [
            text for word, text in _ACKNOWLEDGEMENTS.items() if any(word in licence for licence in licences)
        ],
        "subjects": sorted({entry.subject for entry in entries}),
        **more,
        "augmentation": list(augmentation),
        "held_out": held_out,
    }


def licence_of(licences: Sequence[str]) -> str:
    """The licence of weights that were trained on data under `licences`, should they count as adapted from it."""
    return _SHARED_LICENCE if any(_SHARE_ALIKE in licence for licence in licences) else _OWN_LICENCE


def training_section(
    command: Sequence[str], seed: int, history: Sequence[Mapping[str, float]], **more: Any
) -> dict[str, Any]:
    """How it was trained: the command that repeats it, the commit, the seed, what the loss did."""
    return {
        "command": shlex.join(command),
        "commit": current_commit(),
        "seed": seed,
        **more,
        "date": datetime.date.today().isoformat(),
        "python": sys.version.split()[0],
        "history": [{k: round(v, 4) for k, v in row.items() if k != "seconds"} for row in history],
    }


def write_card(
    out: Path, model: str, paper: str, data: Mapping[str, Any], training: Mapping[str, Any], **more: Any
) -> None:
    """Write the card beside the weights `out`; `evaluate --card` fills in the results."""
    card = {
        "model": model,
        "paper": paper,
        "licence": licence_of(data["licences"]),
        "data": data,
        **more,
        "training": training,
        "results": {},
    }
    write_whole(out.with_suffix(".json"), json.dumps(card, indent=1) + "\n")
