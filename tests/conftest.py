"""Fixtures of all tests."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dalembert.simulation.interrupts import clear_interrupt


@pytest.fixture(autouse=True)
def _sigint_raises() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt during a test, also in processes that a shell started with SIGINT ignored.

    Child processes of a test then start with the default action. An interrupt that a test leaves pending is cleared.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signal handlers can be set in the main thread only
        return
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)
    clear_interrupt()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start two Dask workers as separate processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client
