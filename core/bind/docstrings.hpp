// Docstrings of the methods that users call on the bound class itself.
#pragma once

namespace dalembert::bind::docs {

constexpr const char *forward_dynamics =
    R"(forward_dynamics($self, q, v, tau=None, *, loads=None, t=0.0, x=None, inputs=None, conditions=None, bare=False, out=None)
--

Return the accelerations of the system as described under given joint forces; O(nb) for trees, articulated bodies.

Elements, dampers, drives and loops act as they do in a simulation.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
tau : (nv,) or (B, nv) N m or N
    Further joint forces; zero if left out.
loads : (nb, 6) or (B, nb, 6) N m and N
    [moment; force] on each body, at the origin of its frame, in world axes.
t : float or (B,) s
    Time, for laws and drives; zero if left out.
x : (nx,) or (B, nx)
    Element states; their start values if left out.
inputs : (n,) or (B, n)
    In place of the laws that inputs of elements come from (``Model.input_values``).
conditions : Conditions
    Other parameters, locks or switches than described.
bare : bool
    The tree and its loops alone, as robotics codes define this: without elements, dampers and drives.
out : ndarray
    Where to put the result.

Returns
-------
a : (nv,) or (B, nv) rad/s2 or m/s2
    The rates of v.

Raises
------
ModelError
    If an array has the wrong shape or type, or holds a number that is not finite.
SingularityError
    If a joint has no inertia to accelerate at this configuration.

Examples
--------
>>> import dalembert as da
>>> s = da.System()
>>> bob = s.body("bob", da.rod(1.0, mass=1.0))
>>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
>>> _ = s.connect("spring", da.TorsionSpring(stiffness=3.0, rest=1.0), "A")
>>> model = s.compile()
>>> model.forward_dynamics([0.0], [0.0])
array([23.715])
>>> model.forward_dynamics([0.0], [0.0], bare=True)
array([14.715])
)";

constexpr const char *dynamics =
    R"(dynamics($self, t, q, v, x=None, *, tau=None, loads=None, inputs=None, a=None, conditions=None, bare=False)
--

Return the results of the equations of motion of the system as described, as they are integrated.

Parameters
----------
t : float or (B,) s
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
x : (nx,) or (B, nx)
    Element states; their start values if left out.
tau : (nv,) or (B, nv) N m or N
    Further joint forces.
loads : (nb, 6) or (B, nb, 6) N m and N
    Further loads, [moment; force] on each body at its origin, world axes.
inputs : (n,) or (B, n)
    In place of the laws that inputs of elements come from (``Model.input_values``).
a : (nv,) or (B, nv) rad/s2 or m/s2
    Accelerations of degrees of freedom that are driven or locked, in place of those that their drives demand.
conditions : Conditions
    Other parameters, locks or switches than described.
bare : bool
    Without elements, dampers and drives.

Returns
-------
Dynamics
    Accelerations `a`, joint forces `tau` (what drives supply included), multipliers `lam` of least norm, rates `dx`.
)";

constexpr const char *constraint_residual = R"(constraint_residual($self, q, *, t=None, out=None)
--

Return the residual of each row of the closed loops; zero in an assembled configuration.

Parameters
----------
q : (nq,) or (B, nq) rad or m
t : float or (B,) s
    For rows that depend on time by themselves; zero if left out.
out : ndarray

Returns
-------
residual : (nc,) or (B, nc) m or rad
    In the order of `constraint_names`.
)";

constexpr const char *constraint_drift = R"(constraint_drift($self, q, *, t=None, out=None)
--

Return the rates of the rows while nothing moves: of rows that depend on time by themselves; zero of all others.

Parameters
----------
q : (nq,) or (B, nq) rad or m
t : float or (B,) s
    Zero if left out.
out : ndarray

Returns
-------
drift : (nc,) or (B, nc) m/s or rad/s
    The rate of the residual is P v plus this.
)";

constexpr const char *constraint_jacobian = R"(constraint_jacobian($self, q, *, t=None, out=None)
--

Return P with residual' = P v, for the cut joints that close loops.

Parameters
----------
q : (nq,) or (B, nq) rad or m
t : float or (B,) s
    For rows that depend on time by themselves; zero if left out.
out : ndarray

Returns
-------
P : (nc, nv) or (B, nc, nv)
)";

constexpr const char *constraint_bias = R"(constraint_bias($self, q, v, *, t=None, out=None)
--

Return P' v, and what time adds to it: the second rate of the residual is P a plus this.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
t : float or (B,) s
    For rows that depend on time by themselves; zero if left out.
out : ndarray

Returns
-------
bias : (nc,) or (B, nc) m/s2 or rad/s2
)";

constexpr const char *inverse_dynamics =
    R"(inverse_dynamics($self, q, v, a, *, loads=None, t=0.0, x=None, inputs=None, conditions=None, bare=False, out=None)
--

Return the joint forces that a given motion needs beside what elements give; O(nb), recursive Newton-Euler.

For open systems; with closed loops use ``da.inverse_dynamics``. Mimic joints need no motor of their own: the force of a
leader includes multiplier times those of its followers, whose own are zero.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
a : (nv,) or (B, nv) rad/s2 or m/s2
loads : (nb, 6) or (B, nb, 6) N m and N
    [moment; force] on each body, at the origin of its frame, in world axes.
t : float or (B,) s
    Time, for laws and drives; zero if left out.
x : (nx,) or (B, nx)
    Element states; their start values if left out.
inputs : (n,) or (B, n)
    In place of the laws that inputs of elements come from (``Model.input_values``).
conditions : Conditions
    Other parameters, locks or switches than described.
bare : bool
    The tree and its loops alone, as robotics codes define this: without elements, dampers and drives.
out : ndarray
    Where to put the result.

Returns
-------
tau : (nv,) or (B, nv) N m or N
    With these, ``forward_dynamics`` gives `a` again.
)";

constexpr const char *mass_matrix = R"(mass_matrix($self, q, *, out=None)
--

Return the mass matrix of the tree, symmetric positive definite; composite bodies.

With mimic joints ``model.reduced.mass_matrix`` gives that of the independent coordinates.

Parameters
----------
q : (nq,) or (B, nq) rad or m
out : ndarray

Returns
-------
M : (nv, nv) or (B, nv, nv) kg m2, kg m or kg
)";

constexpr const char *solve_mass_matrix = R"(solve_mass_matrix($self, q, x, *, out=None)
--

Return M(q)^-1 x without forming M; O(nb). For many x at one q, use `factor`.

Parameters
----------
q : (nq,) or (B, nq) rad or m
x : (nv,) or (B, nv)
out : ndarray

Returns
-------
y : (nv,) or (B, nv)
)";

constexpr const char *integrate = R"(integrate($self, q, v, *, out=None)
--

Return q moved by the step v on the configuration manifold; quaternions come out normalised.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad or m
    A velocity times a time.
out : ndarray

Returns
-------
q : (nq,) or (B, nq) rad or m
)";

constexpr const char *difference = R"(difference($self, q0, q1, *, out=None)
--

Return the step v with ``integrate(q0, v)`` equal to q1; orientations by the shorter rotation.

Parameters
----------
q0, q1 : (nq,) or (B, nq) rad or m
out : ndarray

Returns
-------
v : (nv,) or (B, nv) rad or m
)";

constexpr const char *coordinate_rates = R"(coordinate_rates($self, q, v, *, out=None)
--

Return q' = N(q) v.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
out : ndarray

Returns
-------
q_rate : (nq,) or (B, nq) 1/s, rad/s or m/s
)";

constexpr const char *center_of_mass = R"(center_of_mass($self, q, *, out=None)
--

Return the system's centre of mass in the world.

Parameters
----------
q : (nq,) or (B, nq) rad or m
out : ndarray

Returns
-------
p : (3,) or (B, 3) m
)";

constexpr const char *centroidal_momentum_matrix = R"(centroidal_momentum_matrix($self, q, *, out=None)
--

Return A with A v = [angular momentum about the centre of mass; linear momentum], world axes.

Parameters
----------
q : (nq,) or (B, nq) rad or m
out : ndarray

Returns
-------
A : (6, nv) or (B, 6, nv)
)";

constexpr const char *velocities = R"(velocities($self, q, v, *, out=None)
--

Return angular velocity and velocity of the origin of every body frame, world axes.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
out : ndarray

Returns
-------
V : (nb, 6) or (B, nb, 6) rad/s and m/s
    Bodies in the order of `body_names`.
)";

constexpr const char *accelerations = R"(accelerations($self, q, v, a, *, out=None)
--

Return angular acceleration and acceleration of the origin of every body frame, world axes.

Parameters
----------
q : (nq,) or (B, nq) rad or m
v : (nv,) or (B, nv) rad/s or m/s
a : (nv,) or (B, nv) rad/s2 or m/s2
out : ndarray

Returns
-------
A : (nb, 6) or (B, nb, 6) rad/s2 and m/s2
    Classical accelerations: rates of what `velocities` returns.
)";

} // namespace dalembert::bind::docs
