# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the extension's zip, installs it in a private Blender profile and resets the scene before each test.

Run with a Python that has bpy. Nothing here imports the engine from the clone: what is tested is what was installed.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = "bl_ext.user_default.nsm_blender"

ANY_VERSION = frozenset(
    f"test_{name}.py"
    for name in (
        "bakes_refused", "bind_checks", "colliders_hostile", "colliders_refused", "crowd", "demo", "documents",
        "edit_reach", "free_place", "goal_spots", "ground", "manifold", "pace", "retargeting", "rig_bodies",
        "rigs_hostile", "room", "routes", "strike", "variation",
    )
)  # fmt: skip
"""Files that test the engine's work and our own rules. What they use of Blender's API, such as meshes, curves and
evaluated poses, other files use too. They take half of the time."""

# bpy reads this when it is first imported, which a test module may do while it is collected.
_PROFILE = Path(tempfile.mkdtemp(prefix="nsm-profile-"))
os.environ["BLENDER_USER_RESOURCES"] = str(_PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--version-dependent`, for a second and a third version of Blender."""
    parser.addoption("--version-dependent", action="store_true", help="leave out what is the same in all versions")


def pytest_configure(config: pytest.Config) -> None:
    """`any_version`, for single tests and parameters in files that are otherwise version-dependent."""
    config.addinivalue_line("markers", "any_version: the same in all versions of Blender, as the files of ANY_VERSION")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the files of ANY_VERSION, and what is marked as they are, where that was asked for."""
    if config.getoption("--version-dependent"):
        left_out = [item for item in items if item.path.name in ANY_VERSION or item.get_closest_marker("any_version")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def extension_zip(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip, built and validated by Blender's own tool."""
    folder = tmp_path_factory.mktemp("zip")
    command = [sys.executable, str(repository / "tools" / "package.py"), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.exit(f"The extension does not build:\n{done.stdout}{done.stderr}", returncode=3)
    (path,) = folder.glob("*.zip")
    return path


@pytest.fixture(scope="session", autouse=True)
def installed(extension_zip: Path) -> ModuleType:
    """The extension, installed and enabled in the private profile; returns its top module."""
    import bpy

    bpy.ops.extensions.package_install_files(
        filepath=str(extension_zip), repo="user_default", enable_on_install=True, overwrite=True
    )
    if PACKAGE not in bpy.context.preferences.addons:
        pytest.exit("The extension was installed but could not be enabled; see the traceback above.", returncode=3)
    return sys.modules[PACKAGE]


@pytest.fixture(autouse=True)
def clean_scene(installed: ModuleType) -> None:
    """Each test starts in an empty scene. The preferences, and so the enabled extension, stay."""
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


@pytest.fixture(scope="session")
def engine(installed: ModuleType) -> ModuleType:
    """The engine as it lives inside the installed extension."""
    return importlib.import_module(f"{PACKAGE}.nsm_blender")


@pytest.fixture(scope="session")
def extension_module(installed: ModuleType) -> Callable[[str], ModuleType]:
    """A function that imports a module of the installed extension: `extension_module("scene.actions")`."""
    return lambda name: importlib.import_module(f"{PACKAGE}.{name}")


@pytest.fixture(scope="session")
def generated_file(installed: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rigify's generated rig in a file, as "rig": generating takes seconds."""
    import bpy

    from . import rigs

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig, _ = rigs.generated()
    rig.name = "rig"
    path = tmp_path_factory.mktemp("rigify") / "rig.blend"
    bpy.data.libraries.write(str(path), {rig})
    return path


_EXIT_STATUS = pytest.ExitCode.INTERNAL_ERROR


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep pytest's own result for the hard exit."""
    global _EXIT_STATUS
    _EXIT_STATUS = pytest.ExitCode(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Leave at once after the summary.

    bpy may hang (4.5) or crash (4.2) at interpreter exit when anything is still registered; a failed test must
    not turn into a hanging run.
    """
    shutil.rmtree(_PROFILE, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(_EXIT_STATUS))
