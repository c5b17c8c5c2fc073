"""Executors of blocks of cases: in this process, in worker processes, by joblib or Dask.

Each executor runs blocks and yields their results in any order. If a process dies, its block is run once more by
itself. Only if that process dies too are the cases recorded as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, Protocol

from ...checks import whole_number
from ...errors import ModelError
from ...model import set_threads
from .blocks import CaseBlock, join
from .cases import Cases
from .jobs import Job, carry_out, packed

__all__ = ["LocalExecutor", "Place", "WorkerLost", "choose_executor"]

PENDING_BLOCKS_PER_WORKER = 3  # pending blocks for each worker: enough to keep it busy, few enough to limit memory


class WorkerLost(Exception):
    """The executor or scheduler that runs the cases is lost."""


class Place(Protocol):
    """Interface of executors."""

    workers: int

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks as they finish."""


class LocalExecutor:
    """Executor in this process: block after block, with SIMD batches and threads if the task supports them."""

    workers = 1

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks in order."""
        for block in blocks:
            yield job.run(block)


class ProcessExecutor:
    """Executor with worker processes, which are restarted if one dies."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks as they finish."""
        sent, waiting = packed(job), iter(blocks)
        while True:
            with self._pool(self.workers) as pool:
                flying = _PendingBlocks(partial(_sent, pool, sent), PENDING_BLOCKS_PER_WORKER * self.workers)
                try:
                    yield from flying.through(waiting)
                    return
                except BrokenProcessPool:
                    suspects = flying.left()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
            for block in suspects:
                yield self._by_itself(sent, block)

    def _by_itself(self, sent: bytes, block: Cases) -> CaseBlock:
        """Run a block that was pending when a process died by itself; if it fails again, case by case."""
        with self._pool(1) as pool:
            try:
                return pool.submit(carry_out, sent, block).result()
            except BrokenProcessPool:
                if len(block) == 1:
                    return CaseBlock(block.numbers, ["the process that ran it died"], {})
        return join([self._by_itself(sent, block[k : k + 1]) for k in range(len(block))])

    @staticmethod
    def _pool(workers: int) -> ProcessPoolExecutor:
        way = "fork" if sys.platform == "linux" else None  # then a script needs no __main__ guard
        context = multiprocessing.get_context(way)
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """Initialize a worker process that ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent terminates the workers
    set_threads(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _sent(executor: Executor, job: bytes, block: Cases) -> Future[CaseBlock]:
    return executor.submit(carry_out, job, block)


class _PendingBlocks:
    """Submitted blocks without results; their number is limited."""

    def __init__(self, send: Callable[[Cases], Future[CaseBlock]], most: int) -> None:
        self.send, self.most = send, most
        self.under_way: dict[Future[CaseBlock], Cases] = {}
        self._next: deque[Cases] = deque()

    def through(self, blocks: Iterator[Cases]) -> Iterator[CaseBlock]:
        """Submit all blocks and yield their results."""
        while True:
            while len(self.under_way) < self.most:
                block = next(blocks, None)
                if block is None:
                    break
                self._next.append(block)
                self.under_way[self.send(block)] = self._next.popleft()
            if not self.under_way:
                return
            done, _ = wait(self.under_way, return_when=FIRST_COMPLETED)
            for future in done:
                answer = future.result()
                del self.under_way[future]
                yield answer

    def left(self) -> list[Cases]:
        """Return blocks without results."""
        return [*self.under_way.values(), *self._next]


class FuturesExecutor:
    """User executor of concurrent.futures, or any object whose `submit` returns such futures."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self.executor, self.workers = executor, workers

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks as they finish."""
        sent = packed(job)
        flying = _PendingBlocks(partial(_sent, self.executor, sent), PENDING_BLOCKS_PER_WORKER * self.workers)
        try:
            yield from flying.through(iter(blocks))
        except (BrokenProcessPool, CancelledError, RuntimeError) as error:
            raise WorkerLost(f"the executor is lost: {error or type(error).__name__}") from error


class JoblibExecutor:
    """Executor with a `joblib.Parallel` of the user."""

    def __init__(self, parallel: Any) -> None:
        self.parallel = parallel
        self.workers = max(1, int(parallel._effective_n_jobs()))

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks, a few at a time."""
        from joblib import delayed

        sent, waiting = packed(job), iter(blocks)
        while some := [
            block for _, block in zip(range(PENDING_BLOCKS_PER_WORKER * self.workers), waiting, strict=False)
        ]:
            yield from self.parallel(delayed(carry_out)(sent, block) for block in some)


class DaskExecutor:
    """Executor on a Dask cluster; the scheduler reassigns the blocks of a lost worker."""

    def __init__(self, client: Any) -> None:
        self.mine = isinstance(client, str)
        self.client = _connected(client) if self.mine else client
        if not hasattr(self.client, "scheduler_info"):
            remedy = "give a distributed.Client, or the address of a scheduler: 'tcp://host:8786'"
            raise ModelError("sweep", "client", type(client).__name__, remedy)
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            remedy = f"its scheduler does not respond ({error!r}): connect again"
            raise ModelError("sweep", "client", client, remedy) from error
        self.workers = max(1, sum(int(worker["nthreads"]) for worker in found.values()))

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the results of blocks as they finish."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError, as_completed

        client, waiting = self.client, iter(blocks)
        try:
            # any worker can recompute submitted data; scattered data are lost with their worker
            sent = client.submit(_as_it_is, packed(job), pure=False)

            def send(block: Cases) -> Any:
                future = client.submit(_on_a_worker, sent, block, pure=False)
                under_way[future.key] = block
                return future

            under_way: dict[str, Cases] = {}
            some = [block for _, block in zip(range(PENDING_BLOCKS_PER_WORKER * self.workers), waiting, strict=False)]
            answers: Any = as_completed([send(block) for block in some])  # type: ignore[no-untyped-call]
            for future in answers:
                block = under_way.pop(future.key)
                try:
                    yield future.result()
                except KilledWorker:
                    message = "the workers that ran it, or its block, died"
                    if len(block) > 1:  # to find the failing case
                        for k in range(len(block)):
                            answers.add(send(block[k : k + 1]))
                    else:
                        yield CaseBlock(block.numbers, [message], {})
                further = next(waiting, None)
                if further is not None:
                    answers.add(send(further))
        except (FutureCancelledError, CancelledError, OSError, TimeoutError) as error:
            raise WorkerLost(f"the scheduler is lost: {error or type(error).__name__}") from error
        finally:
            if self.mine:
                client.close(timeout=1)


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        remedy = f"no scheduler responds at this address: {error or type(error).__name__}"
        raise ModelError("sweep", "client", address, remedy) from error


def _as_it_is(job: bytes) -> bytes:
    return job


def _on_a_worker(job: bytes, cases: Cases) -> CaseBlock:
    """Run a block on one thread: a Dask worker runs one block per thread."""
    set_threads(1)
    return carry_out(job, cases)


def choose_executor(executor: Any, client: Any, workers: int | None) -> Place | None:
    """Return the executor from user arguments; None if it is chosen automatically."""
    places = {"executor": executor, "client": client, "workers": workers}
    given = [name for name, value in places.items() if value is not None]
    if len(given) > 1 and set(given) != {"executor", "workers"}:
        raise ModelError("sweep", " and ".join(given), "given", "give one of them")
    if workers is not None:
        whole_number(workers, item="sweep", field="workers")
    if client is not None:
        return DaskExecutor(client)
    if executor is not None:
        if hasattr(executor, "submit"):
            return FuturesExecutor(executor, workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        if hasattr(executor, "_effective_n_jobs") and callable(executor):
            return JoblibExecutor(executor)
        remedy = "give a concurrent.futures.Executor, or a joblib.Parallel"
        raise ModelError("sweep", "executor", type(executor).__name__, remedy)
    if workers is None:
        return None
    return LocalExecutor() if workers == 1 else ProcessExecutor(workers)
