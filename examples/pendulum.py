"""A pendulum swings wide: its period against the exact one, which needs an elliptic integral."""

import numpy as np
from scipy.special import ellipk

import dalembert as da

amplitude = np.radians(120)  # from hanging

system = da.System("pendulum")
rod = system.body("rod", da.rod(length=1.0, mass=2.0))
system.connect("A", da.Revolute("y"), system.ground, rod)
system.initial("A", position=np.pi / 2 - amplitude)  # zero is level, a right angle hangs

turns = da.Event("turns back", "A.speed")
result = da.simulate(system, 10.0, events=[turns], rtol=1e-10, atol=1e-12)

moments = [event.t for event in result.events]
period = 2 * np.diff(moments).mean()
exact = 4 * np.sqrt(2 / 3 / 9.81) * ellipk(np.sin(amplitude / 2) ** 2)

if __name__ == "__main__":
    print(f"period {period:.10f} s over {len(moments)} half swings, exact {exact:.10f} s")
    print(f"largest force in the pin {result['A.force.norm'].max():.4f} N, weight {2 * 9.81:.4f} N")
    print(f"energy kept to {np.abs(result['energy.balance']).max():.1e} J")
    result.plot("A.position", "A.speed", "A.force.norm", path="pendulum.png")
