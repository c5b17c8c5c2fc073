// Forces that depend on what connections transmit: friction and traction (Sol 1983, V-15: section 9.1 and
// (9.3.8)-(9.3.12) with the product rule corrected, erratum).
//
// Transmitted loads z are affine in the forces of the elements, which are functions of z: z = g(z). Newton's method on
// z - g(z), from the loads without those forces, with the Jacobian by differences where it begins, kept up to date by
// Broyden's rule (Broyden 1965) and taken anew where that does not lead on. While g follows z so little that z := g(z)
// takes fewer evaluations than a Jacobian, that is done. The result is a function of the state alone. Where loads are
// not unique, z is that of least norm (system/self_stress.hpp), as everywhere.
#pragma once

#include "system/connection_loads.hpp"
#include "system/sliding_modes.hpp"

namespace dalembert::DALEMBERT_ISA {

struct LoadFeedbackWorkspace {
  double *found, *residual, *step, *kept, *broyden, *lu; // n each, n x n for the last two
  std::int32_t *exchange;
};

std::size_t lay_out(const ModelData &m, std::byte *base, LoadFeedbackWorkspace &work);

// everything that a state of numbers needs
struct MotionWorkspace {
  SystemWorkspace<double> system;
  LoadWorkspace loads;
  LoadFeedbackWorkspace feedback;
  SlidingWorkspace sliding;
};

// loads: space for loads of connections, which models need that feed them back; others where they are wanted
std::size_t lay_out(const ModelData &m, std::byte *base, MotionWorkspace &work, bool loads);

// The equations of motion, on the branches of laws that are held, and where the motion slides between two of them on
// the mixture that keeps it there: accelerations a (nv), rates dx (nx; may be null), multipliers in work.system.lambda.
// False if what is evaluated outside has failed. Where no loads fit, a is not finite.
bool dynamics(const ModelData &m, const Conditions &c, MotionWorkspace &work, const SystemState<double> &s, double *a,
              double *dx);

// Picks out of the loads of all connections those that elements take, in axes of the second markers. Frames stand in
// the world.
template <class T> inline void use_load_feedback(const ModelData &m, const Workspace<T> &ws, const T *loads, T *z) {
  for (int k = 0; k < m.feedback_count; ++k) {
    const FeedbackData &wanted = m.feedbacks[k];
    const int constraint = wanted.connection - m.users;
    const int body = constraint >= 0 ? m.loop_constraints[constraint].body_b : m.markers[wanted.connection].body;
    Mat3<T> axes =
        lift<T>(as_mat(constraint >= 0 ? m.loop_constraints[constraint].R_FM : m.markers[wanted.connection].R_FM));
    if constexpr (varies<T>)
      if (m.varied)
        axes = as_mat(constraint >= 0 ? parameters_of<T>(m)->loop_constraints[constraint].R_FM
                                      : parameters_of<T>(m)->markers[wanted.connection].R_FM);
    const T *load = loads + 6 * std::ptrdiff_t(wanted.connection) + (wanted.part < 3 ? 0 : 3);
    const Vec3<T> turned = mul_t(mul(ws.X_W[body].R, axes), Vec3<T>{load[0], load[1], load[2]});
    z[k] = component(turned, wanted.part % 3);
  }
}

// the loads that connections transmit, at a state with known accelerations and multipliers, as elements take them
void transmitted_loads(const ModelData &m, const Conditions &c, MotionWorkspace &work, const SystemState<double> &s,
                       const double *a, double *z);

} // namespace dalembert::DALEMBERT_ISA
