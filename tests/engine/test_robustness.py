# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluation of robustness: its cases run in child processes, and what goes wrong in one is told."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.evaluation.robustness.commands import Done
from nsm_blender.evaluation.robustness.readers import Outcome, read
from nsm_blender.evaluation.robustness.samples import Sample
from nsm_blender.evaluation.robustness.table import Result, figures, measure, table


def test_damaged_files_and_failing_writers_are_counted_and_none_is_wrong() -> None:
    results = measure(30, 100_001, 1, "mapping") + measure(1, 100_001, 1, "label, ")
    assert {result.kind for result in results} == {
        "read mapping",
        *(f"data label, {what}" for what in ("disk full", "stopped", "unwritable", "two at once")),
    }
    assert [result.outcome.told for result in results if result.outcome.verdict == "wrong"] == []


def test_the_table_names_what_is_wrong() -> None:
    results = [Result("read bvh", "3", Outcome("wrong", "KeyError: 'Hips'")), Result("read bvh", "4", Outcome("well"))]
    assert "wrong: read bvh, case 3: KeyError: 'Hips'" in table(results)
    found = figures(results)
    assert found["robustness.cases"] == 2 and found["robustness.wrong"] == found["robustness.read_bvh.well"] == 1


def raises(error: Exception) -> Sample:
    def fail(_: Path) -> None:
        raise error

    return Sample(Path("walk.bvh"), "text", fail)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (FileFormatError("walk.bvh: the file is empty"), "refused"),
        (FileFormatError("the file is empty"), "wrong"),
        (FileFormatError("walk.bvh: " + "x" * 1000), "wrong"),
        (KeyError("Hips"), "wrong"),
    ],
)
def test_only_a_short_sentence_that_names_the_file_is_a_refusal(error: Exception, verdict: str) -> None:
    assert read(raises(error)).verdict == verdict


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (Done(0, ""), "well"),
        (Done(0, "", hung=True), "wrong"),
        (Done(1, "nsm-blender: no.\n"), "refused"),
        (Done(1, 'Traceback (most recent call last):\n  File "a"\nKeyError'), "wrong"),
        (Done(1, ""), "wrong"),
        (Done(-9, ""), "well"),
        (Done(-11, ""), "wrong"),
        (Done(-signal.SIGXCPU, ""), "wrong"),
    ],
)
def test_a_process_is_judged_by_its_end_its_words_and_its_time(done: Done, verdict: str) -> None:
    assert done.outcome().verdict == verdict
