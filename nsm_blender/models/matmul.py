# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix products in the fastest way that this NumPy has.

With a BLAS, `matmul` is 2 to 30 times faster than `einsum`; without one (official Blender builds) `einsum`
is four times faster than `matmul`. Which NumPy this is gets measured once, in a few milliseconds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stepwise import Stepwise, finished

Float32 = NDArray[np.float32]
IntArray = NDArray[np.intp]

_ONE_THREAD_ELEMENTS = 9000
"""Elements of a matrix up to which OpenBLAS multiplies it with a vector on one thread: from 9216 on it wakes a second
one, which costs more than it saves at our sizes, and milliseconds when its core is busy."""
_FEW_COLUMNS = 64
"""Columns of the second factor up to which a product counts as narrow, and is parted for the BLAS."""
_SMALL_PRODUCT = 1_000_000
"""Multiplications up to which OpenBLAS (on AVX-512) takes matrices as they lie; larger ones it first copies into
another order, which for a few columns costs more than the product."""
_CACHED_ROWS = 32
"""Rows of the second factor that `einsum` goes through at once, so that at our widths they stay in a core's nearest
cache."""
_LANES = 4
"""Numbers that `einsum` takes at once."""
_LARGE_PRODUCT = 10_000_000
"""Multiplications (about a millisecond of `einsum`) from which threads are worth starting."""
_COPIED = 2_000_000
"""Elements of windows that are copied for one product, since fewer make the BLAS start too often and more miss the
cache."""
_MANY_ROWS = 200
"""Rows of a product from which the BLAS is as fast as with any more."""
_WIDTHS = (16, 8, 4, 2, 1)
"""Rows of a strip of a matrix, since products take longer with more, and with numbers that are no powers of two."""
_LINE = 16
"""Numbers of four bytes in a line of the cache."""
_TRIALS = 5
"""Timings of which the best counts."""


@cache
def matmul_is_fast() -> bool:
    """Whether `matmul` beats `einsum` here, that is, whether this NumPy has a BLAS. Measured once."""
    a = np.ones((32, 256), dtype=np.float32)
    b = np.ones((256, 32), dtype=np.float32)
    return _seconds(lambda: np.matmul(a, b)) < _seconds(lambda: np.einsum("ij,jk->ik", a, b))


def matmul(a: Float32, b: Float32) -> Float32:
    """(i, j) times (j, k) -> (i, k)."""
    few = b.shape[1] <= _FEW_COLUMNS
    if not matmul_is_fast():
        # einsum vectorizes along the last axis: of the result, or, when both factors end with it, of the sum.
        return np.einsum("ij,kj->ik", a, np.ascontiguousarray(b.T)) if few else _einsum_matrices(a, b)
    if not few:
        return np.matmul(a, b)
    rows, n = a.shape
    columns = b.shape[1]
    block = _divisor(rows, min(128, _SMALL_PRODUCT // (n * columns)))
    return np.matmul(a.reshape(-1, block, n), b).reshape(rows, columns)


def convolve(x: Float32, kernel: Float32, before: int) -> Float32:
    """`convolving` at once."""
    return finished(convolving(x, kernel, before))


def convolving(x: Float32, kernel: Float32, before: int) -> Stepwise[Float32]:
    """Rows x[t - before ..] side by side times the kernel, in pieces: (T, d) and (width * d, n) -> (T, n), zeros beyond
    the ends.

    The windows overlap. `einsum` takes them as they lie; a BLAS takes no overlapping rows, but copying them costs
    less than `width` products of few rows each; for long sequences it is the other way round.
    """
    count, size = x.shape
    width = len(kernel) // size
    rows = math.ceil(count / width)
    padded = np.zeros(((rows + 1) * width, size), dtype=np.float32)
    padded[before : before + count] = x
    step, item = padded.strides
    view = partial(np.lib.stride_tricks.as_strided, padded, writeable=False)
    if matmul_is_fast() and rows >= _MANY_ROWS:
        # Every width-th window follows the one before without a gap.
        out = np.empty((rows, width, kernel.shape[1]), dtype=np.float32)
        phases = view(shape=(width, rows, width * size), strides=(step, width * step, item))
        for phase, windows in enumerate(phases):
            yield
            np.matmul(windows, kernel, out=out[:, phase])
        return out.reshape(rows * width, -1)[:count]
    if matmul_is_fast():
        return _copied_product(view(shape=(count, width * size), strides=(step, item)), kernel)
    return _halved_convolution(padded, kernel, count)


def _halved_convolution(padded: Float32, kernel: Float32, count: int) -> Float32:
    """Rows padded[t .. t + width] times the kernel for t < count, with a quarter fewer multiplications.

    Even and odd rows, and even and odd taps, make four convolutions of half the length, two for the even and two for
    the odd results; of the sums of rows and of taps comes what those for the even results add up to, in one.
    """
    size, columns = padded.shape[1], kernel.shape[1]
    taps = -(-len(kernel) // (2 * size))
    both = np.zeros((taps, 2, size, columns), dtype=np.float32)
    both.reshape(-1, columns)[: len(kernel)] = kernel
    half = -(-count // 2)
    rows = np.zeros((half + taps, 2, size), dtype=np.float32)
    known = padded[: rows.size // size]
    rows.reshape(-1, size)[: len(known)] = known
    even: Float32 = np.ascontiguousarray(rows[:, 0])
    odd: Float32 = np.ascontiguousarray(rows[:, 1])
    even_taps: Float32 = np.ascontiguousarray(both[:, 0]).reshape(-1, columns)
    odd_taps: Float32 = np.ascontiguousarray(both[:, 1]).reshape(-1, columns)
    crossed = _slid(even, odd_taps, half + 1)
    straight = _slid(odd, even_taps, half)
    out = np.empty((half, 2, columns), dtype=np.float32)
    out[:, 0] = _slid(even + odd, even_taps + odd_taps, half) - straight - crossed[:half]
    out[:, 1] = straight + crossed[1:]
    return out.reshape(-1, columns)[:count]


def _slid(rows: Float32, kernel: Float32, count: int) -> Float32:
    """rows[t .. t + width] times the kernel for t < count, without a BLAS."""
    step, item = rows.strides
    windows = np.lib.stride_tricks.as_strided(rows, (count, len(kernel)), (step, item), writeable=False)
    return _threaded_product(windows, kernel)


def _copied_product(windows: Float32, kernel: Float32) -> Float32:
    """(i, j) times (j, k) with a BLAS, of rows that overlap."""
    out = np.empty((len(windows), kernel.shape[1]), dtype=np.float32)
    for rows in _blocks(len(windows), math.ceil(windows.size / _COPIED)):
        np.matmul(np.ascontiguousarray(windows[rows]), kernel, out=out[rows])
    return out


def _threaded_product(windows: Float32, kernel: Float32) -> Float32:
    """(i, j) times (j, k) without a BLAS, on all cores as a BLAS would: `einsum` lets threads run."""
    cores = os.cpu_count() or 1
    if cores == 1 or windows.size * kernel.shape[1] < _LARGE_PRODUCT:
        return matmul(windows, kernel)
    with ThreadPoolExecutor(cores) as pool:
        parts = pool.map(lambda rows: matmul(windows[rows], kernel), _blocks(len(windows), cores))
        return np.concatenate(list(parts))


def _blocks(size: int, count: int) -> list[slice]:
    """At most `count` slices of alike length that make up `size`."""
    length = max(1, math.ceil(size / max(1, count)))
    return [slice(start, start + length) for start in range(0, size, length)]


class Rows:
    """A matrix kept ready for products with vectors, on one thread.

    matrix: (..., rows, n) float32, C-contiguous; it is not copied. Products are
    `multiply(blocks, vector, out)` with `vector` (n,) and `out` C-contiguous, of shape `shape`.
    """

    def __init__(self, matrix: Float32) -> None:
        if not matrix.flags.c_contiguous:
            raise ValueError("the matrix is not C-contiguous, so that products with it would be slow")
        rows, n = matrix.shape[-2:]
        if matmul_is_fast():
            # matmul hands each small matrix of a stack to the BLAS on its own: small enough for one thread.
            self.blocks = matrix.reshape(-1, _divisor(rows, _ONE_THREAD_ELEMENTS // n), n)
            self.multiply: Callable[[Float32, Float32, Float32], object] = np.matmul
        else:
            self.blocks = matrix.reshape(-1, n)
            self.multiply = _einsum_rows
        self.shape = self.blocks.shape[:-1]


class Product:
    """A matrix times vectors, on one thread.

    matrix: as `strips` gives it. out: (..., rows) float32, C-contiguous, where the results go.
    """

    def __init__(self, matrix: Float32, out: Float32) -> None:
        *_, n, width = matrix.shape
        self._by_strips = matmul_is_fast()
        self._matrix = matrix.reshape(-1, n, width) if self._by_strips else matrix.reshape(-1, width)
        self._out = out.reshape(-1, width) if self._by_strips else out.reshape(-1)

    def __call__(self, x: Float32) -> None:
        """The product with x (n,)."""
        if self._by_strips:
            np.matmul(x, self._matrix, out=self._out)
        else:
            _einsum_rows(self._matrix, x, self._out)


def strips(matrix: Float32) -> Float32:
    """Matrices (..., rows, n) in the order in which products read them fastest.

    With a BLAS (..., S, n, width): strips of some rows, column by column, so that memory is read from end to end. From
    beyond the caches that takes half the time of reading several rows at once.
    """
    rows, n = matrix.shape[-2:]
    if not matmul_is_fast():
        return matrix
    width = next(width for width in _widths(n) if rows % width == 0)
    return np.swapaxes(matrix.reshape(*matrix.shape[:-2], rows // width, width, n), -1, -2)


def padded_rows(rows: int, n: int) -> int:
    """The least number from `rows` on of which `strips` makes wide strips, for matrices (rows, n)."""
    width = _widths(n)[0]
    return -(-rows // width) * width


def _widths(n: int) -> list[int]:
    return [width for width in _WIDTHS if width * n <= _ONE_THREAD_ELEMENTS] or [1]


def side_by_side(arrays: Mapping[str, Float32]) -> dict[str, Float32]:
    """Copies, each C-contiguous, in one piece of memory: for 4 MiB and more NumPy asks the system for large pages,
    without which the processor is busy finding out where the weights lie."""
    starts = np.cumsum([0, *(-(-array.size // _LINE) * _LINE for array in arrays.values())])
    room = np.empty(starts[-1] + _LINE, dtype=np.float32)
    room = room[-(room.ctypes.data // room.itemsize) % _LINE :]
    out = {}
    for (name, array), start in zip(arrays.items(), starts[:-1].tolist(), strict=True):
        out[name] = room[start : start + array.size].reshape(array.shape)
        out[name][...] = array
    return out


def _divisor(size: int, limit: int) -> int:
    """The largest divisor of `size` up to `limit`, or 1."""
    return next(d for d in range(max(1, min(size, limit)), 0, -1) if size % d == 0)


def _einsum_matrices(a: Float32, b: Float32) -> Float32:
    columns = b.shape[1]
    if columns % _LANES:
        # Rows that do not begin at a multiple of the lanes are a tenth slower.
        b = np.pad(b, ((0, 0), (0, -columns % _LANES)))
    out = np.einsum("ij,jk->ik", a[:, :_CACHED_ROWS], b[:_CACHED_ROWS])
    for start in range(_CACHED_ROWS, len(b), _CACHED_ROWS):
        block = slice(start, start + _CACHED_ROWS)
        out += np.einsum("ij,jk->ik", a[:, block], b[block])
    return out[:, :columns]


def _einsum_rows(matrix: Float32, vector: Float32, out: Float32) -> None:
    np.einsum("ij,j->i", matrix, vector, out=out)


def _seconds(call: Callable[[], Any]) -> float:
    """Best of a few timings: other work on the machine only ever adds."""
    best = np.inf
    for _ in range(_TRIALS):
        start = perf_counter()
        call()
        best = min(best, perf_counter() - start)
    return float(best)
