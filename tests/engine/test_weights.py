# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights files: what training writes is read back, and what is damaged is refused with a sentence."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from nsm_blender.errors import WeightsError
from nsm_blender.models.weights import card_path, check_shapes, file_hash, read_card, read_tensors


def write(path: Path, header: Any, body: bytes = b"", length: int | None = None) -> Path:
    """A file with any header, so also those that no library would write."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + body)
    return path


def entry(start: int, stop: int, shape: list[Any], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def test_float32_and_float16_come_back_as_written(file: Path) -> None:
    rng = np.random.default_rng(0)
    half = rng.standard_normal((3, 5)).astype(np.float16)
    single = rng.standard_normal((2, 3, 4)).astype(np.float32)
    save_file({"half": half, "single": single, "none": np.zeros((0, 4), np.float32)}, file, metadata={"made": "here"})
    tensors = read_tensors(file)
    assert {t.dtype for t in tensors.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(tensors["half"], half.astype(np.float32))
    np.testing.assert_array_equal(tensors["single"], single)
    assert tensors["none"].shape == (0, 4)


def test_bfloat16_is_widened_exactly(file: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    values = torch.randn(4, 7, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    save_torch({"w": values}, file)
    np.testing.assert_array_equal(read_tensors(file)["w"], values.float().numpy())


def test_tensors_can_be_written_to(file: Path) -> None:
    save_file({"w": np.ones(3, np.float32)}, file)
    tensors = read_tensors(file)
    tensors["w"] *= 2
    assert tensors["w"].tolist() == [2, 2, 2]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda p: p.write_bytes(b""),
    "no length": lambda p: p.write_bytes(b"\x01\x00"),
    "header longer than the file": lambda p: write(p, {"w": entry(0, 8, [2])}, bytes(8), length=10_000),
    "absurd header length": lambda p: write(p, {"w": entry(0, 8, [2])}, bytes(8), length=2**63),
    "header length too short": lambda p: write(p, {"w": entry(0, 8, [2])}, bytes(8), length=11),
    "not JSON": lambda p: write(p, b"{'w': 1}"),
    "not text": lambda p: write(p, b"\xff\xfe\xfd"),
    "deeply nested": lambda p: write(p, b"[" * 100_000),
    "not an object": lambda p: write(p, [1, 2]),
    "tensor not an object": lambda p: write(p, {"w": 7}),
    "no offsets": lambda p: write(p, {"w": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "name twice": lambda p: write(
        p,
        b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}',
        bytes(16),
    ),
    "integers": lambda p: write(p, {"w": entry(0, 8, [2], "I32")}, bytes(8)),
    "dtype not text": lambda p: write(p, {"w": {"dtype": ["F32"], "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "negative shape": lambda p: write(p, {"w": entry(0, 8, [-1, -2])}, bytes(8)),
    "shape of booleans": lambda p: write(p, {"w": entry(0, 4, [True])}, bytes(4)),
    "shape not a list": lambda p: write(p, {"w": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}}, bytes(8)),
    "three offsets": lambda p: write(p, {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}}, bytes(8)),
    "offsets backwards": lambda p: write(p, {"w": entry(8, 0, [2])}, bytes(8)),
    "offsets of fractions": lambda p: write(
        p, {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0.0, 8.0]}}, bytes(8)
    ),
    "size is not the shape's": lambda p: write(p, {"w": entry(0, 8, [3])}, bytes(8)),
    "overlap": lambda p: write(p, {"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, bytes(12)),
    "gap": lambda p: write(p, {"a": entry(0, 8, [2]), "b": entry(12, 20, [2])}, bytes(20)),
    "truncated": lambda p: write(p, {"w": entry(0, 8, [2])}, bytes(7)),
    "bytes left over": lambda p: write(p, {"w": entry(0, 8, [2])}, bytes(9)),
    "not a number": lambda p: write(p, {"w": entry(0, 8, [2])}, np.array([1, np.nan], np.float32).tobytes()),
    "infinite half": lambda p: write(p, {"w": entry(0, 2, [1], "F16")}, np.array([np.inf], np.float16).tobytes()),
    "a folder": lambda p: p.mkdir(),
    "missing": lambda p: None,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_file_is_refused_with_one_sentence_naming_it(damage: Callable[[Path], object], file: Path) -> None:
    damage(file)
    with pytest.raises(WeightsError) as caught:
        read_tensors(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sizes_of_one_name_must_agree() -> None:
    tensors = {"a": np.zeros((4, 6)), "b": np.zeros((6, 2))}
    assert check_shapes(tensors, {"a": (4, "h"), "b": ("h", "m")}, "x") == {"h": 6, "m": 2}
    with pytest.raises(WeightsError, match=r"'b' has shape \[6, 2\] instead of \[4, m\]"):
        check_shapes(tensors, {"a": ("k", 6), "b": ("k", "m")}, "x")


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ({"c": (4,)}, "'c' is missing"),
        ({"a": (4, 7)}, r"\[4, 6\] instead of \[4, 7\]"),
        ({"a": (4, 6, 1)}, r"\[4, 6\] instead of \[4, 6, 1\]"),
        ({"a": (4,)}, r"\[4, 6\] instead of \[4\]"),
    ],
)
def test_missing_tensor_and_wrong_shape_are_refused(expected: dict[str, tuple[int, ...]], sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        check_shapes({"a": np.zeros((4, 6))}, expected, "x")


def test_card_is_read_beside_the_weights(file: Path) -> None:
    assert read_card(file) == {}
    card_path(file).write_text('{"name": "walk"}', encoding="utf-8")
    assert read_card(file) == {"name": "walk"}


@pytest.mark.parametrize("text", ["{", "[]", '"walk"'])
def test_damaged_card_is_refused(file: Path, text: str) -> None:
    card_path(file).write_text(text, encoding="utf-8")
    with pytest.raises(WeightsError, match=r"model\.json"):
        read_card(file)


def test_hash_names_the_content(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"one")
    before = file_hash(file)
    assert file_hash(file) == before
    file.write_bytes(b"two")
    assert file_hash(file) != before
    with pytest.raises(WeightsError):
        file_hash(tmp_path / "missing")
