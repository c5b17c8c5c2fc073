"""Quantities of a system by name: ``"crank.tip.velocity"``, ``"A.position"``, ``"D.force"``, ``"energy.total"``.

A name is an owner, a dot, and a quantity; vectors of three may have a component, ``.x``, ``.y``, ``.z`` or ``.norm``:

    joints           position, speed, acceleration; or a coordinate (slide, angle, qw, wx, ...) with one of these three;
                     effort, force, moment, also of cut joints; friction, stuck, stop of joints with friction or stops
    constraints      force, moment; rows, for their multipliers; effort if driven
    couplings        effort
    force elements   force, moment; effort if they act on a coordinate
    bodies, markers, points (``"crank.at(0.2, 0, 0)"``)
                     position, rotation, quaternion, angle, velocity, angular_velocity, acceleration,
                     angular_acceleration
    these, ball joints and free ones
                     bryant, euler, euler_XYZ and so on, for all sequences of axes; with _rates or _accelerations
    joints, bodies, markers and points of motions that drives prescribe wholly (`da.kinematics`): jerk
    the system       energy. (kinetic, potential, total, work, dissipated, balance), power, momentum. (linear, angular),
                     center_of_mass, constraints. (residual, velocity_residual), q, v, a, x, tau, lam

An `Output` has a unit and a shape and is evaluated on a batch of states. Only the needed quantities are computed.
"""
