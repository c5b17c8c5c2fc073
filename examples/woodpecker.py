"""A woodpecker on a spring pecks its way down a pole: impacts and friction, and a steady cycle."""

import numpy as np

import dalembert as da
from dalembert.library import woodpecker, woodpecker_impacts

toy = woodpecker()
result = da.simulate(toy, 1.2, method="radau", rtol=1e-6, atol=1e-9, events=woodpecker_impacts(toy))

pecks = [event.t for event in result.events if event.name == "bird.beak"]
periods = np.diff(pecks)
drop = -np.diff(result.at(pecks)["fall.position"])[-1]
speed = result.output("fall.speed", np.linspace(pecks[-2], pecks[-1], 2001))
stuck = np.mean(np.abs(speed) < 1e-3)  # share of a cycle in which the sleeve holds

if __name__ == "__main__":
    print(f"it pecks every {periods[-1]:.5f} s, {1 / periods[-1]:.2f} times a second; the last {periods[-3:].round(5)}")
    print(f"and falls {1e3 * drop:.3f} mm each time; for {100 * stuck:.0f} % of it the sleeve sticks to the pole")
    print(f"{len(result.events)} impacts took {-1e3 * sum(event.energy for event in result.events):.3f} mJ")
    print(f"energy off by {np.abs(result['energy.balance']).max():.1e} J")
    result.plot("fall.position", "tilt.position", "swing.position", path="woodpecker.png")
