# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents: links lead somewhere, files that are named exist, commands are as they are written down.

The Python on the pages runs in test_api.py, and in tests/extension where it needs Blender.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from nsm_blender.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


WITH_SUBCOMMANDS = ("evaluate", "train", "data")


def prose(path: Path) -> str:
    """The text without its blocks of code."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shell_lines(path: Path) -> Iterator[list[str]]:
    """The commands in a page's blocks of shell code, split into words."""
    for language, code in FENCE.findall(path.read_text(encoding="utf-8")):
        if language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True) if not line.startswith("[") else []
                yield words


def commands(path: Path) -> list[list[str]]:
    """The arguments of each `nsm-blender` on a page."""
    told = [words[1:] for words in shell_lines(path) if words and words[0] == "nsm-blender"]
    inline = re.findall(r"`nsm-blender ([^`]*)`", prose(path))
    return told + [shlex.split(text) for text in inline]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page_a_heading_or_a_picture(page: str) -> None:
    path = PAGES[page]
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if target.startswith(("http://", "https://")):
            continue
        file, _, heading = target.partition("#")
        there = path.parent / file if file else path
        assert there.is_file(), f"{page} links to {target}"
        assert not heading or heading in anchors(there), f"{page} links to {target}"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_of_the_repository_that_is_named_exists(page: str) -> None:
    named = re.findall(
        r"`((?:nsm_blender|tools|tests|weights|docs|scene|operators|panels)/[\w/.-]*)`", prose(PAGES[page])
    )
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_make_exists(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    told = re.findall(r"`(?:\w+=\S+ )*make ([\w-]+)`", prose(PAGES[page]))
    told += [words[1] for words in shell_lines(PAGES[page]) if words and words[0] == "make"]
    assert set(told) <= targets


@pytest.mark.parametrize("page", [page for page in PAGES if commands(PAGES[page])])
def test_every_command_and_option_of_nsm_blender_exists(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(PAGES[page]):
        with pytest.raises(SystemExit) as ended:
            # A name in capitals stands for any.
            main(
                [*[word for word in words[: 2 if words[0] in WITH_SUBCOMMANDS else 1] if not word.isupper()], "--help"]
            )
        assert ended.value.code == 0, f"{page}: there is no {' '.join(words)}"
        known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
        assert {word for word in words if word.startswith("--")} <= known, f"{page}: {' '.join(words)}"


def test_the_readme_is_one_page_with_a_picture_on_top() -> None:
    text = PAGES["README.md"].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert text.index("![") < text.index("\n## ")


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = PAGES["docs/index.md"].read_text(encoding="utf-8")
    listed = {line for block in re.findall(r"```{toctree}(.*?)```", contents, re.DOTALL) for line in block.split()}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= listed
