"""A DC motor as a position servo: the current of its locked shaft, and a step against linear control theory."""

import numpy as np

import dalembert as da

motor = {"resistance": 1.2, "constant": 0.05, "inductance": 2e-3}
gear, inertia, gain, damping = 10.0, 0.02, 40.0, 0.8  # -, kg m^2, V/rad, V s/rad


def shaft(voltage):
    s = da.System("servo", gravity=(0, 0, 0))
    disc = s.body("disc", mass=1.0, inertia=(inertia, inertia, inertia))
    s.connect("shaft", da.Revolute("z"), s.ground, disc)
    s.connect("motor", da.DCMotor(voltage, **motor, gear=gear), "shaft")
    return s


locked = shaft(6.0)
locked.drive("shaft", position=0.0)
stall = da.simulate(locked, 0.01)
current = 6.0 / 1.2 * (1 - np.exp(-stall.t * 1.2 / 2e-3))  # u/R (1 - exp(-t R/L))

system = shaft(f"{gain}*(0.5 - s) - {damping}*ds")
result = da.simulate(system, 0.5, times=np.linspace(0, 0.5, 501))
k, R, L = gear * motor["constant"], motor["resistance"], motor["inductance"]
A = np.array([[0, 1, 0], [0, 0, k / inertia], [-gain / L, -(k + damping) / L, -R / L]])  # angle, speed, current
poles, modes = np.linalg.eig(A)
shares = np.linalg.solve(modes, [-0.5, 0, 0])  # of the distance from rest at 0.5 rad
exact = 0.5 + (np.exp(np.outer(result.t, poles)) * shares @ modes[0]).real
overshoot = result["shaft.position"].max() / 0.5 - 1

if __name__ == "__main__":
    print(f"locked: off by {np.abs(stall.x[:, 0] - current).max():.1e} A from the exponential")
    print(f"step: off by {np.abs(result['shaft.position'] - exact).max():.1e} rad, poles {poles.round(2)}")
    print(f"it overshoots by {100 * overshoot:.2f} %, energy off by {np.abs(result['energy.balance']).max():.1e} J")
    result.plot("shaft.position", "shaft.speed", "motor.effort", path="dc_servo.png")
