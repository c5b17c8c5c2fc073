"""What all tests share."""

from collections.abc import Iterator

import pytest

from dalembert.simulation.interrupt import forget


@pytest.fixture(autouse=True)
def _no_press_waits() -> Iterator[None]:
    """A key that one test pressed does not stop the next, as it would stop a loop."""
    yield
    forget()
