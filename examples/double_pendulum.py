"""A double pendulum forgets how it was released: two starts that differ by a billionth of a radian."""

import numpy as np

import dalembert as da

system = da.System("double pendulum")
upper = system.body("upper", da.rod(length=1.0, mass=1.0))
lower = system.body("lower", da.rod(length=1.0, mass=1.0))
system.connect("A", da.Revolute("y"), system.ground, upper)
system.connect("B", da.Revolute("y"), upper.at(1.0, 0, 0), lower)
lower.marker("tip", 1.0, 0, 0)
system.initial("A", position=-2.0)

model = system.compile()
state = model.initial_state()
times = np.linspace(0, 20, 401)
result = da.simulate(model, 20.0, times=times, rtol=1e-12, atol=1e-12)
state.q[1] += 1e-9
other = da.simulate(model, 20.0, times=times, state=state, rtol=1e-12, atol=1e-12)

apart = np.linalg.norm(result["lower.tip.position"] - other["lower.tip.position"], axis=1)

if __name__ == "__main__":
    for t in (0, 5, 10, 15, 20):
        print(f"t = {t:2d} s: the tips are {apart[20 * t]:.2e} m apart")
    print(f"energy kept to {np.abs(result['energy.balance']).max():.1e} J")
    shown = result.at(np.linspace(0, 4, 101))
    shown.animate("double_pendulum.gif", fps=20, trace=["lower.tip"], size=(4, 4))
