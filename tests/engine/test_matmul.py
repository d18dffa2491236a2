# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix products are right, whichever way this NumPy makes fastest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nsm_blender.models import matmul
from nsm_blender.motion.rotations import Array


@pytest.fixture(params=[True, False], ids=["with BLAS", "without BLAS"])
def _blas(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both ways on any NumPy: the products must be right even where the measurement chose badly."""
    monkeypatch.setattr(matmul, "matmul_is_fast", lambda: request.param)
    yield


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.usefixtures("_blas")
@pytest.mark.parametrize("shape", [(1, 1, 1), (2048, 277, 2), (97, 13, 5), (30, 40, 200), (920, 2000, 64)])
def test_matmul_is_the_product(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    a, b = random(rows, inner), random(inner, columns)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(matmul.matmul(a, b), expected, atol=1e-3)


@pytest.mark.usefixtures("_blas")
@pytest.mark.parametrize("shape", [(512, 277), (2, 230, 513), (4, 97, 600), (3, 20_000), (1, 1)])
def test_rows_times_a_vector_is_the_product(shape: tuple[int, ...]) -> None:
    matrix, vector = random(*shape), random(shape[-1])
    rows = matmul.Rows(matrix)
    out = np.full(rows.shape, np.nan, dtype=np.float32)
    rows.multiply(rows.blocks, vector, out)
    expected = matrix.astype(np.float64) @ vector.astype(np.float64)
    np.testing.assert_allclose(out.reshape(shape[:-1]), expected, atol=1e-3)


@pytest.mark.usefixtures("_blas")
def test_rows_follow_the_matrix_they_were_made_of() -> None:
    matrix = random(6, 4)
    rows = matmul.Rows(matrix)
    matrix[:] = 1
    out = np.empty(rows.shape, dtype=np.float32)
    rows.multiply(rows.blocks, np.ones(4, dtype=np.float32), out)
    assert out.ravel().tolist() == [4] * 6


@pytest.mark.usefixtures("_blas")
@pytest.mark.parametrize("shape", [(50, 3, 5, 4), (600, 40, 15, 70), (3100, 5, 15, 70), (6400, 64, 25, 30)])
def test_a_convolution_sums_the_products_with_the_rows_around(shape: tuple[int, int, int, int]) -> None:
    rows, size, width, columns = shape
    x, kernel, before = random(rows, size), random(width * size, columns), width // 2
    padded = np.zeros((rows + width, size))
    padded[before : before + rows] = x
    taps = kernel.astype(np.float64).reshape(width, size, columns)
    expected = sum(padded[k : k + rows] @ taps[k] for k in range(width))
    np.testing.assert_allclose(matmul.convolve(x, kernel, before), expected, atol=1e-3)


@pytest.mark.usefixtures("_blas")
@pytest.mark.parametrize("shape", [(512, 277), (8, 592, 256), (8, 256, 704), (3, 20_000), (24, 6), (1, 1)])
def test_strips_times_a_vector_is_the_product(shape: tuple[int, ...]) -> None:
    matrix, vector = random(*shape), random(shape[-1])
    out = np.full(shape[:-1], np.nan, dtype=np.float32)
    product = matmul.Product(np.ascontiguousarray(matmul.strips(matrix)), out)
    for x in (vector, -vector):
        product(x)
        np.testing.assert_allclose(out, matrix.astype(np.float64) @ x.astype(np.float64), atol=1e-3)


@pytest.mark.parametrize(("rows", "n"), [(579, 256), (256, 704), (1, 5), (7, 20_000), (31, 9000), (127, 100)])
def test_padded_rows_make_wide_strips(rows: int, n: int) -> None:
    padded = matmul.padded_rows(rows, n)
    assert rows <= padded < rows + 16
    assert matmul._widths(n)[0] == 1 or padded % matmul._widths(n)[0] == 0
    assert matmul._widths(n)[0] * n <= max(n, matmul._ONE_THREAD_ELEMENTS)


def test_arrays_side_by_side_are_the_same() -> None:
    arrays = {"a": random(5, 7), "b": random(9, 4).T, "c": random(3)}
    together = matmul.side_by_side(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(together[name], array)
        assert together[name].flags.c_contiguous


def test_a_matrix_in_another_order_is_refused() -> None:
    with pytest.raises(ValueError, match="C-contiguous"):
        matmul.Rows(random(8, 6).T)


def test_the_choice_is_measured_once() -> None:
    assert matmul.matmul_is_fast() is matmul.matmul_is_fast()
    assert matmul.matmul_is_fast.cache_info().currsize == 1
