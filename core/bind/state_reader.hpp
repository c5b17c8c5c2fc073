// Chosen numbers of a state: coordinates and velocities, parts of a report, poses and motions of points.
//
//     out_k = factor_k * source[column_k]
//
// Sources are evaluated once for all columns, without allocation.
#pragma once

#include "bind/batch.hpp"
#include "bind/bound_model.hpp"
#include <vector>

namespace dalembert::bind {

class StateReader {
public:
  // a state of a run
  struct State {
    double t;
    const double *q, *v, *x;
    const double *a, *dx; // rates there; null: they have to be evaluated
  };

  // sources: "q", "v", "x", a part of a report, or ("pose" or "velocity" or "acceleration", points); columns: (source,
  // index in it); factors: one for each column
  StateReader(const nb::object &model, const nb::list &sources, const Places &columns, const Doubles &factors);

  std::size_t count() const { return factors.size(); }
  // fills `out` (count); false if what is evaluated outside has failed
  bool read(const BoundModel &model, const Conditions &conditions, const State &state, double *out);

private:
  struct Source {
    int state = -1;  // 0 to 4: q v x a dx
    int part = -1;   // of a report
    Kernel kernel{}; // of points
    nb::object points{};
    std::size_t offset = 0, size = 0; // in `numbers`
  };
  std::vector<Source> sources;
  std::vector<std::int32_t> source, index;
  std::vector<double> factors, numbers;
  std::vector<const double *> values; // of sources, in one call
  bool needs_report = false, needs_a = false;
  std::size_t a_offset = 0;

  void add(const nb::handle &given, const ModelData &m);
  bool evaluate_report(const BoundModel &model, const Conditions &conditions, const State &state);
};

void add_state_reader(nb::module_ &module);

} // namespace dalembert::bind
