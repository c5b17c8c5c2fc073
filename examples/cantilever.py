"""A cantilever of forty links and springs: small deflections, and the elastica."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipeinc, ellipkinc

import dalembert as da

length, EI = 1.0, 2.0  # m, N m^2


def links(n, force):
    """A chain of rigid links; springs between them are as stiff as the beam along a link, half of one at the clamp."""
    s, h = da.System("links", gravity=(0, 0, 0)), length / n
    before = s.ground
    for k in range(n):
        link = s.body(f"link_{k}", da.rod(length=h, mass=0.1 / n))
        s.connect(f"pin_{k}", da.Revolute((0, -1, 0)), before.at(h if k else 0, 0, 0), link)
        s.connect(f"spring_{k}", da.JointSpring(EI / h * (1 if k else 2)), f"pin_{k}")
        before = link
    s.connect("load", da.Load(force=(0, 0, da.Polynomial((0.0, force)))), before.at(h, 0, 0))
    return s


def deflect(system, tip, steps=1):
    """Return where the tip comes to rest as the load grows with t to 1: Newton's method on accelerations."""
    model = system.compile()
    q, still = model.initial_state().q, np.zeros(model.nv)
    for t in np.repeat(np.linspace(0, 1, steps + 1)[1:], 8):
        by_q = model.d_dynamics(t, q, still).a.q
        q = model.integrate(q, -np.linalg.solve(by_q, model.dynamics(t, q, still).a))
    return model.pose(tip(system), q).position, q


def elastica(force):
    """Return the tip of the exact elastica under a force that stays upright (Bisshopp and Drucker 1945)."""
    alpha = length * np.sqrt(force / EI)

    def between(integral, k):
        return integral(np.pi / 2, k * k) - integral(np.arcsin(1 / (k * np.sqrt(2))), k * k)

    k = brentq(lambda k: between(ellipkinc, k) - alpha, 0.70711, 1 - 1e-12)
    E = between(ellipeinc, k)
    return np.array([np.sqrt(2) * np.sqrt(2 * k * k - 1) / alpha * length, 0, (1 - 2 * E / alpha) * length])


end = length / 40
small, _ = deflect(links(40, 0.01), lambda s: s["link_39"].at(end, 0, 0))
large, bent = deflect(links(40, 20.0), lambda s: s["link_39"].at(end, 0, 0), steps=10)
exact_small, exact = 0.01 * length**3 / (3 * EI), elastica(20.0)
error = np.abs(large - exact)[[0, 2]] / length

if __name__ == "__main__":
    print(
        f"small: {1e3 * small[2]:.6f} mm, exact {1e3 * exact_small:.6f} mm: {100 * (small[2] / exact_small - 1):+.3f} %"
    )
    print(f"large: tip at {large[[0, 2]].round(5)} m, elastica {exact[[0, 2]].round(5)} m")
    print(f"off by {100 * error.max():.3f} % of the length, with 40 links")
    links(40, 20.0).draw(bent, path="cantilever.png")
