"""Values cached per model belong to that model and are freed with it."""

from __future__ import annotations

import gc
import weakref

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar
from dalembert.model.cache import cached_per_model


def test_each_model_has_its_own_value_worked_out_once() -> None:
    asked: list[int] = []

    @cached_per_model
    def bodies(model: da.Model) -> tuple[str, ...]:
        asked.append(model.nb)
        return model.body_names

    two, three = chain(2).compile(), chain(3).compile()
    for _ in range(3):
        assert bodies(two) == ("link_1", "link_2")
        assert bodies(three) == ("link_1", "link_2", "link_3")
    assert asked == [2, 3]


def test_memory_does_not_keep_a_model_alive() -> None:
    @cached_per_model
    def dofs(model: da.Model) -> int:
        return model.nv

    model = chain(2).compile()
    assert dofs(model) == 2
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_models_are_let_go_with_all_that_was_worked_out_for_them() -> None:
    gone = []
    for _ in range(3):
        model = four_bar().compile()
        da.simulate(model, 0.05)
        gone.append(weakref.ref(model))
        del model
    gc.collect()
    assert [each() for each in gone] == [None, None, None]
