# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts in the documents that use Blender run as they are, one after the other in an empty scene."""

from __future__ import annotations

import re

import pytest

PAGES = ("actions", "files", "ground", "path", "refine")


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_of_the_page_run_as_they_are(page, repository, tmp_path, monkeypatch):
    text = (repository / "docs" / f"{page}.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert scripts
    monkeypatch.chdir(tmp_path)
    for script in scripts:
        exec(compile(script, f"{page}.md", "exec"), {})


def test_no_page_with_such_a_script_is_left_out(repository):
    pages = {
        path.stem for path in (repository / "docs").glob("*.md") if "import bpy" in path.read_text(encoding="utf-8")
    }
    assert pages == set(PAGES)
