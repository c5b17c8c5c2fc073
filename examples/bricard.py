"""Bricard's mechanism moves although Grübler counts no degree of freedom: six revolutes on the edges of a cube."""

import numpy as np

import dalembert as da
from dalembert.library.mechanisms import bricard

system = bricard()
report = system.check()
rest = da.Event("comes to rest", "P0.speed")
result = da.simulate(system, 10.0, events=[rest], rtol=1e-10, atol=1e-12)
p, r = result["P0.position"], result["P1.position"]
invariant = (1 + np.sin(p)) * (1 + np.sin(r))
period = result.events[1].t

if __name__ == "__main__":
    print(report)
    print(f"period {period:.8f} s")
    print(f"(1 + sin p) (1 + sin r) = 1 to {np.abs(invariant - 1).max():.1e}, as it must at all times")
    print(f"energy kept to {np.abs(result['energy.balance']).max():.1e} J")
    system.draw(result.at(np.linspace(0, period / 2, 40)).q, trace=["rod 3"], path="bricard.png")
