# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house, where a machine can check them."""

from __future__ import annotations

import ast
import re
import shutil
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


def imports(path: Path) -> list[str]:
    """What a file imports, also inside functions: `numpy.linalg`, and `./scene/actions` where that is relative."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                found.append(node.module or "")
                continue
            room = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            # `from .. import x`: x may be a module.
            found += [f"./{(room / alias.name).relative_to(ROOT)}" for alias in node.names]
    return found


def import_of(path: Path, *modules: str) -> bool:
    """Whether a file imports one of these modules or something in it."""
    return any(re.match(rf"{re.escape(module)}(?![\w])", name) for name in imports(path) for module in modules)


def test_every_source_file_names_its_licence() -> None:
    files = tracked("*.py", "*.sh", "*.toml", "Makefile", ".ci/run")
    without = [path for path in files if SPDX not in "".join(path.read_text().splitlines(True)[:2])]
    assert len(files) > 20
    assert not without


@pytest.mark.parametrize("module", ["bpy", "mathutils", "bmesh", "scipy"])
def test_the_engine_does_not_import(module: str) -> None:
    assert not [path for path in tracked("nsm_blender/*.py") if import_of(path, module)]


def stays_in_the_zip(path: Path) -> bool:
    """What serves only training and the command line does not travel to Blender."""
    left_out = ("nsm_blender/training/", "nsm_blender/commands/", "nsm_blender/cli.py", "nsm_blender/__main__.py")
    return not str(path.relative_to(ROOT)).startswith(left_out)


def extension_files() -> list[Path]:
    sources = tracked("nsm_blender/*.py", "scene/*.py", "operators/*.py", "panels/*.py", "__init__.py")
    return [path for path in sources if stays_in_the_zip(path)]


def test_only_training_needs_torch() -> None:
    assert not [path for path in extension_files() if import_of(path, "torch", "safetensors")]


def test_the_extension_does_not_reach_for_what_stays_out_of_the_zip() -> None:
    left_out = ("./nsm_blender/training", "./nsm_blender/commands", "./nsm_blender/cli")
    assert not [path for path in extension_files() if import_of(path, *left_out)]


def test_the_engine_imports_itself_relatively() -> None:
    """It is one package in two places, under two names."""
    assert not [path for path in tracked("nsm_blender/*.py") if import_of(path, "nsm_blender")]


@pytest.mark.parametrize(
    ("room", "above"),
    [
        ("nsm_blender", ["./scene", "./operators", "./panels"]),
        ("scene", ["./operators", "./panels"]),
        ("operators", ["./panels"]),
    ],
)
def test_arrows_point_one_way(room: str, above: list[str]) -> None:
    """panels -> operators -> scene -> engine, and never back."""
    assert not [path for path in tracked(f"{room}/*.py") if import_of(path, *above)]


def below_the_api(path: Path) -> set[str]:
    """The modules of the engine, or names in its root that are not public, that a file imports; for types as well."""
    found: set[str] = set()
    own = path.relative_to(ROOT).parts[:2]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        room = (*path.parents[node.level - 1].relative_to(ROOT).parts, *(node.module or "").split("."))
        room = tuple(part for part in room if part)
        if room[:1] != ("nsm_blender",) or room[:2] == own:
            continue
        if len(room) == 1:
            found |= {alias.name for alias in node.names} - {*nsm_blender.__all__, "__version__"}
        elif (ROOT.joinpath(*room) / "__init__.py").is_file():
            found |= {".".join((*room[1:], alias.name)) for alias in node.names}
        else:
            found.add(".".join(room[1:]))
    return found


COMMANDS_BELOW = {
    "evaluation.bench",
    "evaluation.bench_geometry",
    "evaluation.bench_manifold",
    "evaluation.bench_nsm",
    "evaluation.bench_rig",
    "evaluation.filters",
    "naturalness.recorded",
    "evaluation.naturalness.table",
    "evaluation.nsm",
    "evaluation.nsm_ablations",
    "evaluation.pfnn",
    "evaluation.proposals",
    "evaluation.rig_figures",
    "evaluation.rig_imports",
    "evaluation.rig_motions",
    "evaluation.rigs",
    "evaluation.robustness.table",
    "evaluation.validation",
    "files.reading",
    "files.writing",
    "models.nsm",
    "models.nsm_baselines",
    "models.pfnn",
    "models.pfnn_kernels",
    "models.weights",
    "motion.clip",
    "motion.clip_file",
    "motion.data_report",
    "motion.load",
    "paths",
    "rollout.nsm_network",
}
"""What the commands still take from below the Python API, for data and benchmarks: this only shrinks."""


def test_operators_and_panels_use_the_python_api_and_nothing_below_it() -> None:
    files = tracked("operators/*.py", "panels/*.py")
    assert len(files) > 20
    assert not {str(path.relative_to(ROOT)): below for path in files if (below := below_the_api(path))}


def test_commands_take_from_below_the_python_api_only_what_is_listed() -> None:
    """Training is no part of the API: it serves the commands alone. The API's own defaults are not below it."""
    found = set().union(*(below_the_api(path) for path in tracked("nsm_blender/commands/*.py")))
    found = {name for name in found if not name.startswith(("training", "api."))}
    assert found - COMMANDS_BELOW == set(), "put it into the Python API instead"
    assert COMMANDS_BELOW - found == set(), "it is not needed any more: take it off the list"


ROOMS = (("shot", "motion", "geometry"), ("planning",), ("rollout",), ("cleanup",), ("tasks",), ("baking",))
"""From a shot to its motion: each room knows those before it."""


@pytest.mark.parametrize("level", range(len(ROOMS) - 1))
def test_rooms_from_shot_to_bake_import_nothing_from_above(level: int) -> None:
    above = [f"./nsm_blender/{room}" for rooms in ROOMS[level + 1 :] for room in rooms]
    below = [path for room in ROOMS[level] for path in tracked(f"nsm_blender/{room}/*.py")]
    assert below
    assert not [str(path.relative_to(ROOT)) for path in below if import_of(path, *above)]


def strings(path: Path) -> set[str]:
    """The texts in a file's code."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_an_action_is_named_in_its_own_file_only() -> None:
    """Neither the planner nor the task machine knows one."""
    actions = {"sit", "open", "pick_up", "put_down", "climb", "run"}
    files = [*tracked("nsm_blender/planning/*.py"), *(ENGINE / "tasks" / f"{n}.py" for n in ("machine", "protocol"))]
    assert len(files) > 10
    assert not [str(path.relative_to(ROOT)) for path in files if strings(path) & actions]


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


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_packing_does_not_install_the_environment_again() -> None:
    """Not even when its description is newer than it, as after each checkout."""
    command = ["make", "--dry-run", "--what-if=pyproject.toml", f"BIN={Path(sys.executable).parent}", "package"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "tools/package.py" in done.stdout
    assert "pip install" not in done.stdout and "-m venv" not in done.stdout


def test_each_weights_file_has_a_model_card() -> None:
    weights = sorted(weights_folder().glob("*.safetensors"))
    assert weights
    assert not [path for path in weights if not path.with_suffix(".json").is_file()]


def test_importing_the_engine_loads_neither_torch_nor_weights() -> None:
    """The package alone not even NumPy, all of its public names neither torch nor weights."""
    program = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "import nsm_blender\n"
        "early = {'numpy', 'bpy', 'torch'} & set(sys.modules)\n"
        "if early: sys.exit(f'{early} before a name was asked for')\n"
        "from nsm_blender import *\n"
        "heavy = {'torch', 'scipy', 'bpy', 'safetensors'} & set(sys.modules)\n"
        "read = [name for name in opened if name.endswith('.safetensors')]\n"
        "sys.exit(f'{heavy} {read}' if heavy or read else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """The dotted names, of `modules`, that a file imports, also inside functions; not those for type checks alone."""
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            room = path.parents[node.level - 1].relative_to(ROOT).parts if node.level else ()
            base = ".".join((*room, *(node.module or "").split("."))).strip(".")
            # `from .room import x`: x is a file of the room, or something in the room's own file.
            found |= {name if (name := f"{base}.{alias.name}") in modules else base for alias in node.names}
    return found & modules.keys()


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One path round each circle that a search from every module meets."""
    found, done = [], set()

    def follow(module: str, path: list[str]) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
        elif module not in done:
            for other in sorted(graph[module]):
                follow(other, [*path, module])
            done.add(module)

    for module in sorted(graph):
        follow(module, [])
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    modules = {}
    for path in tracked("nsm_blender/*.py", "scene/*.py", "operators/*.py", "panels/*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imported_modules(path, modules) - {name} for name, path in modules.items()}
    assert sum(map(len, graph.values())) > len(graph), "the imports are found at all"
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == [["a", "b", "c", "a"]]
    assert not circles(graph)
