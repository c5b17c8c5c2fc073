"""What all tests share."""

from collections.abc import Iterator
from typing import Any

import pytest

from dalembert.simulation.interrupt import forget


@pytest.fixture(autouse=True)
def _no_press_waits() -> Iterator[None]:
    """A key that one test pressed does not stop the next, as it would stop a loop."""
    yield
    forget()


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
