# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house, where a machine can check them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nsm_blender
from nsm_blender.paths import weights_folder

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "nsm_blender"
SPDX = "SPDX-License-Identifier: GPL-3.0-or-later"


def tracked(*patterns: str) -> list[Path]:
    """The files that git would keep: tracked ones, and new ones that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in done.stdout.splitlines() if (path := ROOT / name).is_file()]


def manifest() -> dict[str, object]:
    return tomllib.loads((ROOT / "blender_manifest.toml").read_text())


def imports(path: Path) -> list[tuple[int, str]]:
    """(level, module) of every import statement of a file, also of those inside functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
    return found


def test_every_source_file_names_its_licence() -> None:
    files = tracked("*.py", "*.sh", "*.toml", "Makefile", ".ci/run")
    without = [path for path in files if SPDX not in "".join(path.read_text().splitlines(True)[:2])]
    assert len(files) > 20
    assert not without


@pytest.mark.parametrize("module", ["bpy", "mathutils", "bmesh", "scipy"])
def test_the_engine_does_not_import(module: str) -> None:
    guilty = [path for path in tracked("nsm_blender/*.py") for _, name in imports(path) if name.split(".")[0] == module]
    assert not guilty


def test_only_training_needs_torch() -> None:
    """What trains lies in the folder `training`, which does not travel in the zip; commands import lazily."""
    allowed = ("training/", "commands/")
    files = [path for path in tracked("nsm_blender/*.py") if not str(path.relative_to(ENGINE)).startswith(allowed)]
    guilty = [path for path in files for _, name in imports(path) if name.split(".")[0] in ("torch", "safetensors")]
    assert not guilty


def test_the_engine_imports_itself_relatively() -> None:
    """It is one package in two places, under two names."""
    guilty = [
        path
        for path in tracked("nsm_blender/*.py")
        for level, name in imports(path)
        if level == 0 and name.split(".")[0] == "nsm_blender"
    ]
    assert not guilty


def test_arrows_point_one_way() -> None:
    """panels -> operators -> scene, and never back."""
    above = {
        "scene": ("operators", "panels"),
        "operators": ("panels",),
        "nsm_blender": ("scene", "operators", "panels"),
    }
    guilty = [
        (path, name)
        for room, forbidden in above.items()
        for path in tracked(f"{room}/*.py")
        for level, name in imports(path)
        if level == len(path.relative_to(ROOT).parts) and name.split(".")[0] in forbidden
    ]
    assert not guilty


def test_nothing_of_the_extension_reaches_for_what_stays_out_of_the_zip() -> None:
    left_out = {"training", "commands", "cli"}
    kept = [
        path
        for path in tracked("nsm_blender/*.py", "scene/*.py", "operators/*.py", "panels/*.py", "__init__.py")
        if not left_out & {*path.relative_to(ROOT).with_suffix("").parts} and path.name != "__main__.py"
    ]
    guilty = [path for path in kept for level, name in imports(path) if level and left_out & set(name.split("."))]
    assert not guilty


def test_nothing_outside_the_clone_is_named() -> None:
    # Put together from pieces, so that this file does not find itself.
    outside = re.compile("|".join(("[.][.]/sha" + "red", "/wo" + "rk/")))
    texts = tracked("*.py", "*.sh", "*.toml", "*.md", "*.json", "Makefile", ".ci/run")
    assert not [path for path in texts if outside.search(path.read_text())]


def test_the_version_is_the_same_everywhere() -> None:
    assert manifest()["version"] == nsm_blender.__version__


def test_the_displayed_name_keeps_the_platforms_terms() -> None:
    about = manifest()
    assert "blender" not in str(about["name"]).lower()
    assert str(about["tagline"])[-1].isalnum()


def test_the_zip_serves_all_platforms() -> None:
    about = manifest()
    assert "platforms" not in about
    wheels = about["wheels"]
    assert isinstance(wheels, list)
    for wheel in wheels:
        assert wheel.endswith("-py3-none-any.whl")
        assert (ROOT / wheel).is_file()


def test_the_installed_package_has_every_room_of_the_engine() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    rooms = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in ENGINE.rglob("__init__.py")}
    assert set(listed) == rooms | {"nsm_blender.weights"}


def test_the_extension_and_the_command_line_pin_the_same_wheel() -> None:
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (pin,) = [need for need in needs if need.startswith("array-api-compat")]
    version = pin.split("==")[1]
    assert manifest()["wheels"] == [f"./wheels/array_api_compat-{version}-py3-none-any.whl"]


def test_each_weights_file_has_a_model_card() -> None:
    weights = sorted(weights_folder().glob("*.safetensors"))
    assert weights
    assert not [path for path in weights if not path.with_suffix(".json").is_file()]


def test_importing_the_engine_loads_neither_torch_nor_weights() -> None:
    program = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "import nsm_blender.control.bake, nsm_blender.control.shot\n"
        "heavy = {'torch', 'scipy', 'bpy', 'safetensors'} & set(sys.modules)\n"
        "read = [name for name in opened if name.endswith('.safetensors')]\n"
        "sys.exit(f'{heavy} {read}' if heavy or read else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
