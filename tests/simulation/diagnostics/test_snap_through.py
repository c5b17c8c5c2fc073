"""Nodes without mass that snap through: said, at the fold, with the name of the element."""

import numpy as np
import pytest

import dalembert as da

K, WIDTH, TIE, REST = 1000.0, 1.0, 50.0, 0.2


def truss(
    length: float = 1.1, tie: float = TIE, start: tuple[object, ...] = (0, 0, 0.45), load: str = "0"
) -> da.System:
    """Return two springs between supports that meet at a node above them, which a body pulls down by a third."""
    s = da.System("truss", gravity=(0, 0, 0))
    body = s.body("body", da.sphere(0.1, mass=100.0))
    s.connect("P", da.Prismatic("z"), s.ground, body)
    s.initial("P", position=0.0, speed=-2.0)
    bar = da.SpringDamper(K, 0.0, length)
    guide = da.Element("place", ("-3e3*x", "-100*y", "0"), energy="1.5e3*x**2 + 50*y**2")
    members = {
        "left": (bar, ("feet", (-WIDTH, 0, 0)), "top"),
        "right": (bar, ("feet", (WIDTH, 0, 0)), "top"),
        "tie": (da.SpringDamper(tie, 0.0, REST), "top", "load"),
        "guide": (guide, "feet", "top"),
    }
    compound = da.Compound(("feet", "load"), members, {"top": ("point", start)}, loads={"top": ("0", "0", load)})
    s.connect("truss", compound, s.ground, body)
    return s


def fold(length: float, tie: float) -> tuple[float, float]:
    """Return where the node and the body are at the fold.

    The bars push by F = 2 k y (1 - l/L), L^2 = w^2 + y^2. With the tie, dF/dy = 2 k (1 - l w^2/L^3) = -c.
    """
    L = (2 * K * length * WIDTH**2 / (2 * K + tie)) ** (1 / 3)
    y = float(np.sqrt(L**2 - WIDTH**2))
    return y, y - REST + 2 * K * y * (1 - length / L) / tie


@pytest.mark.parametrize(("length", "tie"), [(1.1, 50.0), (1.02, 20.0)])
@pytest.mark.parametrize("times", [None, [0.0, 1.0]])
def test_a_truss_that_snaps_through_ends_the_run_at_its_fold(
    length: float, tie: float, times: list[float] | None
) -> None:
    with pytest.raises(da.SingularityError, match="inner equilibrium of element 'truss' reaches a fold") as caught:
        da.simulate(truss(length, tie), 1.0, times=times, rtol=1e-9, atol=1e-11)
    assert "mainly 'top_z'" in str(caught.value)
    result = caught.value.result
    if times is None:
        top, load = fold(length, tie)
        assert result["P.position"][-1] == pytest.approx(load, abs=1e-8)
        assert result["truss.top_z_at"][-1] == pytest.approx(top, abs=1e-4)  # a root: the square of that is left


@pytest.mark.parametrize("times", [None, [0.0, 0.2]])
def test_a_search_that_begins_elsewhere_does_not_lead_to_another_solution(times: list[float] | None) -> None:
    """The search begins further down the further the load moves, and would end on the other side."""
    found = da.simulate(truss(1.1, 50.0, (0, 0, "0.3 + 0.9*z")), 0.2, times=times, rtol=1e-9, atol=1e-11)
    above = da.simulate(truss(1.1, 50.0, (0, 0, 1.1)), 0.2, times=times, rtol=1e-9, atol=1e-11)
    for name in ("P.position", "truss.top_z_at"):
        assert found[name][-1] == pytest.approx(above[name][-1], abs=1e-9)
    assert np.abs(found["energy.balance"]).max() < 1e-8


def test_runs_side_by_side_do_what_one_alone_does() -> None:
    speeds = np.array([[-0.01], [-2.0], [-1.5]])
    runs = da.simulate(truss(1.1, 50.0, (0, 0, "0.3 + 0.9*z")), 0.1, state=da.State(q=np.zeros((3, 1)), v=speeds))
    for k in range(3):
        one = da.simulate(truss(1.1, 50.0, (0, 0, 1.1)), 0.1, state=da.State(q=np.zeros(1), v=speeds[k]))
        assert runs[k].status == one.status == "finished"
        assert runs[k]["truss.top_z_at"][-1] == pytest.approx(one["truss.top_z_at"][-1], abs=1e-7)


def test_a_truss_that_is_deep_or_pulled_little_moves_as_it_may() -> None:
    for system in (truss(1.5, 50.0, (0, 0, 1.1)), truss(0.9, 50.0, (0, 0, 0.1))):
        result = da.simulate(system, 1.0)
        assert result.status == "finished"
        assert np.abs(result["energy.balance"]).max() < 1e-5


def test_a_load_that_jumps_is_no_fold() -> None:
    result = da.simulate(truss(1.5, 50.0, (0, 0, 1.1), load="where(t > 0.3, -50.0, 0.0)"), 0.6)
    assert result.status == "finished"
    moved = np.diff(result["truss.top_z_at"])
    assert np.abs(moved).max() > 0.01
