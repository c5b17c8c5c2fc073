"""A bicycle that stands by itself between two speeds: eigenvalues as published, and a push at three speeds."""

import numpy as np

import dalembert as da

speeds = np.linspace(0.5, 10.0, 96)
locus = da.root_locus(da.library.bicycle, "speed", speeds)
stable = [at for at, _ in locus.crossings()]

pushed = {}
for speed in (3.8, 5.0):
    system = da.library.bicycle(speed)
    result = da.simulate(system, 4.0, state={"lean.speed": 0.1})
    pushed[speed] = np.degrees(result["lean.position"])

if __name__ == "__main__":
    print(f"stable from {stable[0]:.3f} to {stable[-1]:.3f} m/s; published 4.292 and 6.024 m/s")
    for speed, lean in pushed.items():
        print(f"pushed at {speed} m/s: leans by up to {np.abs(lean).max():.2f}, after 4 s by {lean[-1]:+.3f} degrees")
    locus.plot_over(path="bicycle.png")
