#include "system/sliding_modes.hpp"
#include "numerics/largest.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, SlidingWorkspace &work) {
  Arena arena{base};
  const bool any = m.switching_count > 0;
  work.q = arena.take<double>(any ? std::size_t(m.nq) : 0);
  for (double **each : {&work.v, &work.move})
    *each = arena.take<double>(any ? std::size_t(m.nv) : 0);
  work.x = arena.take<double>(any ? std::size_t(m.nx) : 0);
  for (double **each : {&work.above, &work.below})
    *each = arena.take<double>(std::size_t(m.switching_count));
  return arena.used;
}

static double largest_of(std::initializer_list<std::pair<const double *, int>> all) {
  double most = 0.0;
  for (const auto &[numbers, count] : all)
    most = std::max(most, largest(numbers, count));
  return most;
}

void switching_rates(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system, SlidingWorkspace &work,
                     const SystemState<double> &s, const double *a, const double *dx, double *rates) {
  // a time in which the state moves by a small part of its size
  const double size = 1.0 + largest_of({{s.q, m.nq}, {s.v, m.nv}, {s.x, m.nx}}),
               pace = largest_of({{s.v, m.nv}, {a, m.nv}, {dx, m.nx}});
  const double h = std::min(1e-4, 1e-5 * size / std::max(pace, 1e-300));
  for (const double sign : {-1.0, 1.0}) {
    const double time = sign * h;
    for (int f = 0; f < m.nv; ++f) {
      work.move[f] = time * s.v[f];
      work.v[f] = s.v[f] + time * a[f];
    }
    integrate<double>(m, s.q, work.move, work.q);
    for (int k = 0; k < m.nx; ++k)
      work.x[k] = s.x[k] + time * dx[k];
    SystemState<double> beside = s;
    beside.t = s.t + time, beside.q = work.q, beside.v = work.v, beside.x = work.x;
    evaluate_switching_functions(m, c, system, beside);
    std::copy_n(system.switching_values, m.switching_count, sign < 0.0 ? work.below : work.above);
  }
  for (int k = 0; k < m.switching_count; ++k)
    rates[k] = (work.above[k] - work.below[k]) / (2.0 * h);
}

} // namespace dalembert::DALEMBERT_ISA
