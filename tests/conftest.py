"""What all tests share."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dalembert.simulation.interrupts import clear_interrupt


@pytest.fixture(autouse=True)
def _no_press_waits() -> Iterator[None]:
    """A key that one test pressed does not stop the next, as it would stop a loop."""
    yield
    clear_interrupt()


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """Ctrl-C pressed by a test is heard, also where the shell has programs in its background ignore it."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ours = ignored and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two Dask workers, each a process of its own."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client
