# SPDX-License-Identifier: GPL-3.0-or-later
"""`train nsm --compile`: compiled where torch can, and trained as it is elsewhere."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from torch._inductor import config as inductor  # noqa: E402

from nsm_blender.training.compiling import compiled  # noqa: E402


def cube(x: torch.Tensor) -> torch.Tensor:
    return x * x * x


def test_a_compiled_function_gives_the_same_and_its_gradient() -> None:
    said: list[str] = []
    x = torch.arange(3.0, requires_grad=True)
    # Which vector instructions there are is read from the processor, and not tried by compiling for each.
    with inductor.patch({"cpp.vec_isa_ok": True}):
        y = compiled(cube, "cpu", said.append)(x)
        y.sum().backward()
    np.testing.assert_allclose(y.detach(), [0.0, 1.0, 8.0])
    np.testing.assert_allclose(x.grad, [0.0, 3.0, 12.0])
    # Without a compiler of C++ it is told so.
    assert all("--compile is left out" in line for line in said)


def test_without_a_compiler_the_function_itself_is_taken_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise RuntimeError("no compiler found\nand more")

    monkeypatch.setattr(torch, "compile", refuse)
    said: list[str] = []
    assert compiled(cube, "cpu", said.append) is cube
    assert said == ["--compile is left out: torch cannot compile on this machine (no compiler found)."]
