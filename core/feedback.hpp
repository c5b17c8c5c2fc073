// Forces that depend on what connections transmit: friction and traction (Sol 1983, V-15: section 9.1 and (9.3.8)-(9.3.12)
// with the product rule corrected, erratum).
//
// Transmitted loads z are affine in the forces of the elements, which are functions of z: z = g(z). Newton's method on
// z - g(z), from the loads without those forces, with the Jacobian by differences where it begins, kept up to date by
// Broyden's rule (Broyden 1965) and taken anew where that does not lead on. The result is a function of the state alone.
#pragma once

#include "chord_loads.hpp"
#include "dense_lu.hpp"
#include "rates.hpp"

namespace dalembert::DALEMBERT_ISA {

// loads that connections transmit at a state with known accelerations and multipliers
template <int W>
inline void transmitted(const ModelData &m, Run &run, RatesRoom<W> &room, double t, const double *q, const double *v, const double *x,
                        const double *a, bool pushed, double *z) {
  const Surroundings<double> at = surroundings(run, room, t, x, room.unused);
  Workspace<double> &ws = room.loops.ws;
  const ChordAndElementLoads<double> loads{{at, q, v, pushed ? room.loads : nullptr, room.efforts, room.tau}, run.active, room.lambda, nullptr};
  inverse_dynamics<double>(m, ws, q, v, a, loads, room.spare); // leaves in p_A what each hinge passes to its body
  place_in_world(m, ws, v);
  for (int k = 0; k < m.feedback_count; ++k) {
    const FeedbackData &wanted = m.feedbacks[k];
    const Mat3<double> R = mul(ws.X_W[wanted.body].R, as_mat(wanted.R_FM));
    Vec3<double> n, f; // on the second marker, axes of the world, at its origin
    if (wanted.chord >= 0) {
      const ChordData &chord = m.chords[wanted.chord];
      const ChordMotion<double> motion = chord_motion(ws, chord);
      const bool off = run.active && !run.active[wanted.chord];
      const Load<double> load = off ? Load<double>{zero3<double>(), zero3<double>()} : chord_load<double>(m, ws, chord, motion, room.lambda, nullptr);
      n = mul(motion.A.X.R, load.n), f = mul(motion.A.X.R, load.f);
    } else {
      const Pose<double> &X = ws.X_W[wanted.carried];
      const double sign = wanted.on_carried ? 1.0 : -1.0;
      f = scale(sign, mul(X.R, ws.p_A[wanted.carried].f));
      n = scale(sign, mul(X.R, ws.p_A[wanted.carried].n)) + cross(X.p - point_in_world(ws, wanted.body, as_vec(wanted.p_FM)), f);
    }
    n = mul_t(R, n), f = mul_t(R, f);
    const double parts[6] = {n.x, n.y, n.z, f.x, f.y, f.z};
    z[k] = parts[wanted.part];
  }
}

// accelerations at (t, q, v, x); see rates_for_feedback
template <int W>
inline bool rates(const ModelData &m, Run &run, RatesRoom<W> &room, double t, const double *q, const double *v, const double *x, double *a,
                  double *dx, const double *more_tau = nullptr, const double *more_loads = nullptr, double *tau_out = nullptr) {
  const int n = m.feedback_count;
  if (!n)
    return rates_for_feedback(m, run, room, t, q, v, x, a, dx, more_tau, more_loads, tau_out);
  constexpr int most_rounds = 40, fresh = 8;
  constexpr double precise = 1e-13, near = 1e-10, far = 1e8;
  double *z = room.feedback, *found = room.found, *r = room.residual, *step = room.step, *J = room.broyden;
  const bool pushed = (run.host && run.host->pushes) || more_loads;
  // r = z - g(z)
  const auto look = [&] {
    if (!rates_for_feedback(m, run, room, t, q, v, x, a, dx, more_tau, more_loads, tau_out))
      return false;
    transmitted(m, run, room, t, q, v, x, a, pushed, found);
    for (int k = 0; k < n; ++k)
      r[k] = z[k] - found[k];
    return true;
  };
  const auto size = [&](const double *u) {
    double largest = 0.0;
    for (int k = 0; k < n; ++k)
      largest = std::fabs(u[k]) > largest || u[k] != u[k] ? std::fabs(u[k]) : largest;
    return largest;
  };
  for (int k = 0; k < n; ++k)
    z[k] = 0.0;
  if (!look())
    return false;
  for (int k = 0; k < n; ++k)
    z[k] = found[k];
  if (!look())
    return false;
  const double usual = size(z) > size(found) ? size(z) : size(found); // without the forces, and with those for such loads
  double reach = 0.0, last = std::numeric_limits<double>::infinity();
  for (int round = 0; round < most_rounds; ++round) {
    const double open = size(r);
    reach = size(z) > reach ? size(z) : reach;
    if (open <= precise * reach || open == 0.0)
      return true;
    if (open <= near * reach && open > 0.5 * last) // loads of flexible bodies are differences of large ones, and as rough
      return true;
    last = open;
    if (round % fresh == 0) { // the Jacobian by differences
      double *kept = room.kept;
      for (int k = 0; k < n; ++k)
        kept[k] = r[k];
      const double h = 1e-6 * (reach > open ? reach : open);
      for (int j = 0; j < n; ++j) {
        const double before = z[j];
        z[j] = before + h;
        if (!look())
          return false;
        z[j] = before;
        for (int i = 0; i < n; ++i)
          J[i * n + j] = (r[i] - kept[i]) / h;
      }
      for (int k = 0; k < n; ++k)
        r[k] = kept[k];
    }
    for (int k = 0; k < n * n; ++k)
      room.lu[k] = J[k];
    if (!factor_lu(room.lu, room.exchange, n))
      break;
    for (int k = 0; k < n; ++k)
      step[k] = -r[k];
    solve_lu(room.lu, room.exchange, n, step);
    double square = 0.0;
    for (int k = 0; k < n; ++k) {
      z[k] += step[k];
      square += step[k] * step[k];
    }
    if (!(size(z) <= far * usual)) // there is no solution near
      break;
    if (!look())
      return false;
    if (!(square > 0.0))
      return true;
    for (int i = 0; i < n; ++i) // Broyden: what the step has not explained, r_new = J step + r_old + rest
      for (int j = 0; j < n; ++j)
        J[i * n + j] += r[i] * step[j] / square;
    if (size(step) <= precise * reach) // rounding is all that is left
      return true;
  }
  for (int f = 0; f < m.nv; ++f) // no such loads: the caller sees what is not finite
    a[f] = std::numeric_limits<double>::quiet_NaN();
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
