"""Models that do not fit the memory of the machine are refused with their sizes."""

from __future__ import annotations

import pickle

import pytest
from systems.many_loops import scissor

import dalembert as da
from dalembert.model import memory_limit


def test_a_model_beyond_the_memory_is_refused_with_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = scissor(20).compile()._evaluation_bytes
    monkeypatch.setattr(memory_limit, "installed_memory", lambda: needed - 1)
    with pytest.raises(da.MemoryLimitError, match=r"41 bodies.*100 rows.*open at once.*GB.*springs") as refused:
        scissor(20).compile()
    assert isinstance(refused.value, MemoryError) and isinstance(refused.value, da.DalembertError)
    assert (refused.value.needed, refused.value.available) == (needed, needed - 1)
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value) and again.needed == needed
    monkeypatch.setattr(memory_limit, "installed_memory", lambda: needed)
    assert scissor(20).compile().nb == 41


def test_what_an_evaluation_needs_grows_with_the_loops() -> None:
    sizes = [scissor(n).compile()._evaluation_bytes for n in (20, 40, 80)]
    assert sizes[0] < sizes[1] < sizes[2] < 6 * sizes[0]  # in proportion, not by the square


def test_without_a_known_memory_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "installed_memory", lambda: None)
    assert scissor(20).compile().nb == 41
