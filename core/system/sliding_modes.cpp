#include "system/sliding_modes.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, SlidingRoom &room) {
  Arena arena{base};
  const bool any = m.threshold_count > 0;
  room.q = arena.take<double>(any ? std::size_t(m.nq) : 0);
  for (double **each : {&room.v, &room.move})
    *each = arena.take<double>(any ? std::size_t(m.nv) : 0);
  room.x = arena.take<double>(any ? std::size_t(m.nx) : 0);
  for (double **each : {&room.above, &room.below})
    *each = arena.take<double>(std::size_t(m.threshold_count));
  return arena.used;
}

static double largest(std::initializer_list<std::pair<const double *, int>> all) {
  double most = 0.0;
  for (const auto &[numbers, count] : all)
    for (int k = 0; k < count; ++k)
      most = std::max(most, std::fabs(numbers[k]));
  return most;
}

void margin_rates(const ModelData &m, const Conditions &c, SystemRoom<double> &system, SlidingRoom &room, const StateOf<double> &s,
                  const double *a, const double *dx, double *rates) {
  // a time in which the state moves by a small part of its size
  const double size = 1.0 + largest({{s.q, m.nq}, {s.v, m.nv}, {s.x, m.nx}}), pace = largest({{s.v, m.nv}, {a, m.nv}, {dx, m.nx}});
  const double h = std::min(1e-4, 1e-5 * size / std::max(pace, 1e-300));
  for (const double sign : {-1.0, 1.0}) {
    const double time = sign * h;
    for (int f = 0; f < m.nv; ++f) {
      room.move[f] = time * s.v[f];
      room.v[f] = s.v[f] + time * a[f];
    }
    integrate<double>(m, s.q, room.move, room.q);
    for (int k = 0; k < m.nx; ++k)
      room.x[k] = s.x[k] + time * dx[k];
    StateOf<double> beside = s;
    beside.t = s.t + time, beside.q = room.q, beside.v = room.v, beside.x = room.x;
    look_at_thresholds(m, c, system, beside);
    std::copy_n(system.margins, m.threshold_count, sign < 0.0 ? room.below : room.above);
  }
  for (int k = 0; k < m.threshold_count; ++k)
    rates[k] = (room.above[k] - room.below[k]) / (2.0 * h);
}

} // namespace dalembert::DALEMBERT_ISA
