#include "system/connection_loads.hpp"
#include "tree/outputs.hpp"

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, LoadRoom &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.shares));
  room.loads = arena.take<double>(6 * std::size_t(connection_count(m)));
  room.lambda = arena.take<double>(std::size_t(m.nc));
  return arena.used;
}

void connection_loads(const ModelData &m, const Conditions &c, SystemRoom<double> &system, LoadRoom &room, const StateOf<double> &s,
                      const double *a) {
  for (int i = 0; i < m.nc; ++i)
    room.lambda[i] = system.lambda[i];
  balance(m, c, system, surroundings(c, system, s, system.unused), s, a, room.lambda, static_cast<double *>(nullptr));
  hinge_loads(m, system.loops.ws, room.loads);
  chord_loads(m, c, system, room.lambda, room.loads + 6 * std::ptrdiff_t(m.users));
  if (find_states(m, c, system, room.shares))
    share_least(m, system.loops, room.shares, room.loads, room.lambda);
}

} // namespace dalembert::DALEMBERT_ISA
