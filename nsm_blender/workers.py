# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for many items at once: in processes of this machine, or on a Dask cluster of many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from typing import Any, TypeVar

from .errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
_ANSWERS = 20.0
"""Seconds within which a cluster's scheduler must answer."""


def each(
    work: Callable[[Item], Result], items: Iterable[Item], processes: int = 2, cluster: str | None = None
) -> Iterator[tuple[Item, Result]]:
    """Items with what `work` gives for each, as they are done; work and items travel to other processes.

    processes: that work at the same time on this machine. cluster: address of a Dask scheduler, such as
    tcp://host:8786, whose workers do it instead; they find files at the same paths. What one of them raises is raised
    here, and what was not begun is given up. Raises UserError when no scheduler answers.
    """
    items = list(items)
    if not items:
        return
    if cluster is not None:
        yield from _on_cluster(work, items, cluster)
        return
    # Fresh processes, so that none inherits threads of ours.
    pool = ProcessPoolExecutor(min(processes, len(items)), get_context("spawn"))
    try:
        waiting = {pool.submit(work, item): item for item in items}
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    finally:
        pool.shutdown(cancel_futures=True)


_LOCK = threading.Lock()
"""Held while a process works: those of a cluster may have several threads, and what they keep serves one."""


def _one_at_a_time(work: Callable[[Item], Result], item: Item) -> Result:
    with _LOCK:
        return work(item)


def _on_cluster(work: Callable[[Item], Result], items: list[Item], address: str) -> Iterator[tuple[Item, Result]]:
    # Dask's own types come and go with its installation, which is optional.
    distributed: Any = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=_ANSWERS)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{address}: no Dask scheduler answers there; start one with dask scheduler, and workers with "
            "dask worker ADDRESS --nthreads 1."
        ) from error
    with client:
        # Pure work would be taken from memory where it was done before, and its files are what counts.
        waiting = {client.submit(_one_at_a_time, work, item, pure=False): item for item in items}
        for done in distributed.as_completed(list(waiting)):
            yield waiting[done], done.result()
