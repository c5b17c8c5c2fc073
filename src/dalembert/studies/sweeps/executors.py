"""Executors of blocks of cases: in this process, in worker processes, by joblib or Dask.

Each place takes blocks and hands back what comes of them, in any order. A process that dies costs nothing but time: its
block is run once more, by itself, and only if that kills its process too are its cases recorded as failed.
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

from ...errors import ModelError
from ...model import set_threads
from .cases import Cases
from .jobs import CaseBlock, Job, carry_out, join, packed

__all__ = ["LocalExecutor", "Place", "WorkerLost", "choose_executor"]

PENDING_BLOCKS_PER_WORKER = (
    3  # blocks for each worker that are sent before answers come: enough to keep it busy, few to keep memory small
)


class WorkerLost(Exception):
    """What runs the cases is gone; the message says what."""


class Place(Protocol):
    """Somewhere to run."""

    workers: int

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks as they come."""


class LocalExecutor:
    """This process: one block after the other, in registers and on threads where the task permits."""

    workers = 1

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks."""
        for block in blocks:
            yield job.run(block)


class ProcessExecutor:
    """Processes of our own, which are started anew if one of them dies."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks as they come."""
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
        """Return the answers of a block that was under way when a process died; if it is the cause, case by case."""
        with self._pool(1) as pool:
            try:
                return pool.submit(carry_out, sent, block).result()
            except BrokenProcessPool:
                if len(block) == 1:
                    return CaseBlock(block.numbers, ["the process that ran it died"], {})
        return join([self._by_itself(sent, block[k : k + 1]) for k in range(len(block))])

    @staticmethod
    def _pool(workers: int) -> ProcessPoolExecutor:
        way = "fork" if sys.platform == "linux" else None  # a script needs no guard then
        context = multiprocessing.get_context(way)
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """Make a process of this one a worker, which ends with its parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    set_threads(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _sent(executor: Executor, job: bytes, block: Cases) -> Future[CaseBlock]:
    return executor.submit(carry_out, job, block)


class _PendingBlocks:
    """Blocks that are sent and not yet answered: a few at a time."""

    def __init__(self, send: Callable[[Cases], Future[CaseBlock]], most: int) -> None:
        self.send, self.most = send, most
        self.under_way: dict[Future[CaseBlock], Cases] = {}
        self._next: deque[Cases] = deque()

    def through(self, blocks: Iterator[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of all."""
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
        """Return blocks that have no answer."""
        return [*self.under_way.values(), *self._next]


class FuturesExecutor:
    """An executor of the user's: of concurrent.futures, or anything with `submit` that returns such futures."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self.executor, self.workers = executor, workers

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks as they come."""
        sent = packed(job)
        flying = _PendingBlocks(partial(_sent, self.executor, sent), PENDING_BLOCKS_PER_WORKER * self.workers)
        try:
            yield from flying.through(iter(blocks))
        except (BrokenProcessPool, CancelledError, RuntimeError) as error:
            raise WorkerLost(f"the executor is gone: {error or type(error).__name__}") from error


class JoblibExecutor:
    """A `joblib.Parallel` of the user's."""

    def __init__(self, parallel: Any) -> None:
        self.parallel = parallel
        self.workers = max(1, int(parallel._effective_n_jobs()))

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks, a few at a time."""
        from joblib import delayed

        sent, waiting = packed(job), iter(blocks)
        while some := [
            block for _, block in zip(range(PENDING_BLOCKS_PER_WORKER * self.workers), waiting, strict=False)
        ]:
            yield from self.parallel(delayed(carry_out)(sent, block) for block in some)


class DaskExecutor:
    """A Dask cluster: its scheduler gives the blocks of a lost worker to another one."""

    def __init__(self, client: Any) -> None:
        self.mine = isinstance(client, str)
        self.client = _connected(client) if self.mine else client
        if not hasattr(self.client, "scheduler_info"):
            remedy = "give a distributed.Client, or the address of a scheduler: 'tcp://host:8786'"
            raise ModelError("sweep", "client", type(client).__name__, remedy)
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            remedy = f"its scheduler does not answer ({error!r}): connect anew"
            raise ModelError("sweep", "client", client, remedy) from error
        self.workers = max(1, sum(int(worker["nthreads"]) for worker in found.values()))

    def run(self, job: Job, blocks: Iterable[Cases]) -> Iterator[CaseBlock]:
        """Yield the answers of blocks as they come."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError, as_completed

        client, waiting = self.client, iter(blocks)
        try:
            # what is submitted, any worker can make anew; what is scattered goes with its worker
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
                    told = "it killed the workers that ran it, or its block did"
                    if len(block) > 1:  # to find out which
                        for k in range(len(block)):
                            answers.add(send(block[k : k + 1]))
                    else:
                        yield CaseBlock(block.numbers, [told], {})
                further = next(waiting, None)
                if further is not None:
                    answers.add(send(further))
        except (FutureCancelledError, CancelledError, OSError, TimeoutError) as error:
            raise WorkerLost(f"the scheduler is gone: {error or type(error).__name__}") from error
        finally:
            if self.mine:
                client.close(timeout=1)


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        remedy = f"no scheduler answers there: {error or type(error).__name__}"
        raise ModelError("sweep", "client", address, remedy) from error


def _as_it_is(job: bytes) -> bytes:
    return job


def _on_a_worker(job: bytes, cases: Cases) -> CaseBlock:
    """Run a block on one thread: the worker has a block for each of its own."""
    set_threads(1)
    return carry_out(job, cases)


def choose_executor(executor: Any, client: Any, workers: int | None) -> Place | None:
    """Return where a user wants cases to run; None if it is left to us."""
    places = {"executor": executor, "client": client, "workers": workers}
    given = [name for name, value in places.items() if value is not None]
    if len(given) > 1 and set(given) != {"executor", "workers"}:
        raise ModelError("sweep", " and ".join(given), "given", "give one of them")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ModelError("sweep", "workers", workers, "give a whole number from 1 on")
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
