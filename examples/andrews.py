"""Andrews' squeezer mechanism, by which the field measures itself: seven bodies, three loops (Hairer and Wanner)."""

import dalembert as da
from dalembert.library.mechanisms import andrews

# beta, Theta, gamma, Phi, delta, Omega, epsilon at 0.03 s, computed with 113 bits
names = ("O", "F", "B", "G", "A5", "H", "A7")
reference = (
    15.8107711951537070971,
    -15.7563710584118394697,
    0.0408222401196458048583,
    -0.534730116342079593770,
    0.524409965879954069372,
    0.534730116342079593770,
    1.04808074104193787307,
)

system = andrews()
result = da.simulate(system, 0.03, rtol=1e-11, atol=1e-13)
angles = [float(result[f"{name}.position"][-1]) for name in names]

if __name__ == "__main__":
    print(system.check())
    for name, angle, exact in zip(names, angles, reference, strict=True):
        print(f"{name:>3} {angle:20.15f} rad, off by {angle - exact:8.1e}")
    print(f"{result.stats.steps} steps in {1e3 * result.stats.wall_time:.1f} ms")
    system.draw(result.final_state.q, path="andrews.png")
