# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user reads when the extension itself fails."""

from __future__ import annotations

import bpy
import pytest

from . import build


def test_an_unexpected_error_says_where_to_report_it_and_with_what(engine, extension_module, monkeypatch):
    build.shot(engine)

    def fail(*_args):
        raise ZeroDivisionError("the moon is in the way")

    monkeypatch.delenv("NSM_BLENDER_RAISE", raising=False)
    monkeypatch.setattr(extension_module("scene.gather_keys"), "gather_shot", fail)
    with pytest.raises(
        RuntimeError, match=r"moon is in the way. Please report it at https://\S+ with the text in .*bug_report\.txt"
    ):
        bpy.ops.nsm.bake()
