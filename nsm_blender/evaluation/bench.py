# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the engine is, and how near to what the machine's memory and arithmetic allow.

Run as a module with a weights file, it prints its result as JSON: `measure_apart` does so in a process of its
own, because a BLAS reads its number of threads when NumPy is imported.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..models.matmul import matmul, matmul_is_fast
from ..models.pfnn import FPS
from ..models.pfnn_kernels import MODES, PFNN
from ..motion.rotations import Array
from ..planning.trajectory import PathCommands, start_of
from ..rollout.pfnn import Locomotion
from ..shot.shot import PathFollow

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ONE_THREAD = dict.fromkeys(_THREADS, "1")
_SECONDS = 1.0
"""Seconds that each figure is measured; the median of the repetitions counts."""
_CROWD = 200
"""Characters that are predicted at once."""
_CYCLE = 60
"""Frames of a walking cycle, about 1 s: so fast the phase goes through the tables."""
_LARGE = 1 << 30
"""Bytes that no cache holds."""
_RADIUS, _SPEED, _SECONDS_OF_WALKING = 3.0, 1.4, 10
"""Meters of the circle that is walked, m/s on it, and seconds of the walk."""


def measure_apart(weights: Path) -> dict[str, Any]:
    """`measure` in another process, on one thread."""
    command = [sys.executable, "-m", __name__, str(weights)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(weights: Path) -> dict[str, Any]:
    """All figures of the engine by name, and "meta". Raises WeightsError."""
    out: dict[str, Any] = {}
    for mode in MODES:
        network = PFNN.load(weights, mode)
        suffix = "" if mode == "cubic" else f".{mode}"
        limit = 1e3 * network.memory_per_frame / read_rate(network.memory)
        _note(out, f"bench.pfnn.frame_ms{suffix}", 1e3 * frame_seconds(network), limit)
        out[f"bench.pfnn.memory_mb{suffix}"] = network.memory / 1e6

    network = PFNN.load(weights)
    limit = 1e3 * network.memory / read_rate(network.memory)
    _note(out, "bench.pfnn.step_ms", 1e3 * step_seconds(network), limit)
    gemm = gemm_rate()
    operations = 2 * _CROWD * network.memory / 4
    _note(out, f"bench.pfnn.batch{_CROWD}_frame_ms", 1e3 * batch_seconds(network), 1e3 * operations / gemm)
    out["meta"] = {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": blas(),
        "blas_kernels": kernels(),
        "products_by": "matmul" if matmul_is_fast() else "einsum",
        "weights": network.hash,
        "read_gb_per_s.cached_8mb": read_rate(8 << 20) / 1e9,
        f"read_gb_per_s.memory_{large() >> 20}mb": read_rate(large()) / 1e9,
        "gemm_gflop_per_s": gemm / 1e9,
    }
    return out


def frame_seconds(network: PFNN) -> float:
    """One prediction after the other, the phase going round as in walking."""
    x, phases = _features(network, 1)[0], np.arange(_CYCLE) * (2 * math.pi / _CYCLE)
    walking = iter(range(1 << 60))
    return median_seconds(lambda: network.predict(x, phases[next(walking) % _CYCLE]))


def batch_seconds(network: PFNN) -> float:
    """One frame of a crowd, each character at another phase."""
    x = _features(network, _CROWD)
    phases = np.linspace(0, 2 * math.pi, _CROWD, dtype=np.float32)
    return median_seconds(lambda: network.predict_batch(x, phases))


def step_seconds(network: PFNN) -> float:
    """The whole controller step: path, trajectory, network, state; walking round a circle."""
    angles = np.linspace(0, 2 * math.pi, 65)
    points = [[_RADIUS * math.cos(a), _RADIUS * math.sin(a), 0.0] for a in angles.tolist()]
    frames = int(FPS) * _SECONDS_OF_WALKING
    follow = PathFollow(points, [_SPEED] * frames, ["walk"] * frames, [0.0] * frames, closed=True)
    commands, character = PathCommands(follow, FPS), Locomotion(network, start_of(follow), frames)
    times = []
    for _ in range(frames):
        start = perf_counter()
        character.step(commands.future(character.state))
        times.append(perf_counter() - start)
    return float(np.median(times))


def read_rate(size: int) -> float:
    """Bytes per second when an array of `size` bytes is read again and again, by the faster of two reductions."""
    values = np.ones(size // 4, dtype=np.float32)
    dot, largest = median_seconds(lambda: np.dot(values, values)), median_seconds(lambda: values.max())
    return size / min(dot, largest)


def gemm_rate() -> float:
    """Multiplications and additions per second in products of square float32 matrices, at the best size."""
    rates = []
    for n in (128, 256, 512, 1024):
        a = np.ones((n, n), dtype=np.float32)
        rates.append(2 * n**3 / median_seconds(lambda a=a: matmul(a, a), 0.5 * _SECONDS))  # type: ignore[misc]
    return max(rates)


def large() -> int:
    """Size in bytes for reading from memory: 1 GiB, or a quarter of the free memory where that is less."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows and macOS
        return _LARGE
    return min(_LARGE, free // 4)


def median_seconds(call: Callable[[], Any], seconds: float = _SECONDS) -> float:
    """Median time of `call`, repeated for about `seconds` and at least five times, after warming up."""
    call()
    call()
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < 5 or perf_counter() < end:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return float(np.median(times))


def cpu_name() -> str:
    """The processor's name, as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def blas() -> str:
    """Name and version of the BLAS that NumPy was built with, or "none"."""
    show: Any = np.show_config  # the stubs do not know `mode`
    found = show(mode="dicts")["Build Dependencies"]["blas"]
    return f"{found['name']} {found['version']}" if found.get("found") else "none"


def kernels() -> str:
    """The processor for which the BLAS chose its kernels, or "unknown" where threadpoolctl is not installed."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return "unknown"
    from threadpoolctl import threadpool_info

    return next((one["architecture"] for one in threadpool_info() if one["internal_api"] == "openblas"), "unknown")


def _features(network: PFNN, count: int) -> Array:
    """Plausible features (count, n): the time does not depend on them, unless they are so small as to be slow."""
    out: Array = np.random.default_rng(0).standard_normal((count, network.input_size)).astype(np.float32)
    return out


def _note(out: dict[str, Any], name: str, value: float, limit: float) -> None:
    out[name] = value
    out[f"{name}.ratio_to_limit"] = value / limit


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
