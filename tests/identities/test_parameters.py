"""Numbers of a system by name: other values without compiling again, and exact derivatives by them."""

from __future__ import annotations

import numpy as np
import pytest
from systems.parameter_examples import KINDS, shifted_parameters


def with_elements(system, model, values):
    """The description with the numbers of elements that conditions have, too."""
    new = system.copy()
    for name, force in list(new.forces.items()):
        numbers = {}
        for label in (*force.element.fields, *getattr(force.element, "parameters", {})):
            numbers[label] = float(values[model.parameter_names[f"{name}.{label}"]])
        if numbers and force.element.fields:
            object.__setattr__(force, "element", type(force.element)(**numbers))
        elif numbers:
            force.element.__dict__["parameters"] = numbers
    return new


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_other_numbers_is_that_of_the_description_which_has_them(kind):
    rng = np.random.default_rng(3)
    s, q, v = kind(rng)
    model = s.compile()
    values = shifted_parameters(model, rng)
    other = model.with_parameters(values)
    fresh = with_elements(other.system, model, values).compile()
    fresh_damping = fresh.conditions(np.append(values[: model.n_element_parameters], fresh.mapped_parameters))
    ours, theirs = other.dynamics(0.4, q, v), fresh.dynamics(0.4, q, v, conditions=fresh_damping)
    scale = 1.0 + np.abs(theirs.a).max()
    np.testing.assert_allclose(ours.a, theirs.a, atol=1e-10 * scale)
    np.testing.assert_allclose(ours.tau, theirs.tau, atol=1e-10 * (1.0 + np.abs(theirs.tau).max()))
    np.testing.assert_allclose(other.energy(q, v), fresh.energy(q, v, conditions=None), rtol=1e-12)
    np.testing.assert_allclose(other.constraint_residual(q), fresh.constraint_residual(q), atol=1e-12)
    np.testing.assert_allclose(other.poses(q).position, fresh.poses(q).position, atol=1e-12)
    again = model.dynamics(0.4, q, v, conditions=model.conditions(values))
    np.testing.assert_array_equal(again.a, ours.a)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_all_numbers_are_those_of_differences(kind):
    rng = np.random.default_rng(11)
    s, q, v = kind(rng)
    model = s.compile().with_parameters(shifted_parameters(s.compile(), rng))
    chosen = [n for n in model.parameter_names if not n.endswith((".lower", ".upper"))]
    names = sorted(rng.choice(chosen, size=min(60, len(chosen)), replace=False))
    exact = model.d_dynamics(0.4, q, v, parameters=names)
    assert exact.a.parameters.shape == (model.nv, len(names))
    scale = 1.0 + np.abs(model.dynamics(0.4, q, v).a).max()

    def at(name, shift):
        value = model.parameters[model.parameter_names[name]]
        value = np.arccos(value) if name == "lean.angle" else value
        changed = model.conditions({name: value + shift})
        found = model.dynamics(0.4, q, v, conditions=changed)
        return np.concatenate([found.a, found.dx])

    h = 1e-4  # five points: off by h^4, below round-off over h
    for k, name in enumerate(names):
        a, b, c, d = (at(name, step * h) for step in (-2, -1, 1, 2))
        slope = (a - 8 * b + 8 * c - d) / (12 * h)
        ours = np.concatenate([exact.a.parameters[:, k], exact.dx.parameters[:, k]])
        np.testing.assert_allclose(ours, slope, atol=2e-8 * scale * (1.0 + np.abs(slope).max()), err_msg=name)
