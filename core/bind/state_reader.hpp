// Chosen numbers of a state, for Python (runs/state_reader.hpp).
#pragma once

#include "bind/batch.hpp"
#include "bind/bound_model.hpp"
#include "runs/state_reader.hpp"
#include <vector>

namespace dalembert::bind {

class StateReader {
public:
  using State = dalembert::StateReader::State;

  // sources: "q", "v", "x", a part of a report, or ("pose" or "velocity" or "acceleration", points); terms: (number in
  // the result, source, index in it), a row each; factors: of the terms
  StateReader(const nb::object &model, const nb::list &sources, std::size_t count, const Places &terms,
              const Doubles &factors);

  std::size_t count() const { return plain.count(); }
  // fills `out` (count); false if what is evaluated outside has failed
  bool read(const BoundModel &model, const Conditions &conditions, const State &state, double *out) {
    return plain.read(*model.kernels, model.data, model.singles, conditions, state, out);
  }
  // the same for Python, under its conditions
  void read_under(const nb::object &conditions, double t, const Doubles &q, const Doubles &v, const Doubles &x,
                  const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out);

private:
  dalembert::StateReader plain;
  std::vector<nb::object> points; // kept alive

  void add(const nb::handle &given, const ModelData &m);
};

void add_state_reader(nb::module_ &module);

} // namespace dalembert::bind
