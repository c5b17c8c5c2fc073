// Chosen numbers of a state: coordinates and velocities, parts of a report, poses and motions of points.
//
//     out_k = sum over terms j of k: factor_j * source_j[index_j]
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
  };

  // sources: "q", "v", "x", a part of a report, or ("pose" or "velocity" or "acceleration", points); terms: (number in
  // the result, source, index in it), a row each; factors: of the terms
  StateReader(const nb::object &model, const nb::list &sources, std::size_t count, const Places &terms,
              const Doubles &factors);

  std::size_t count() const { return size; }
  // fills `out` (count); false if what is evaluated outside has failed
  bool read(const BoundModel &model, const Conditions &conditions, const State &state, double *out);
  // the same for Python, under its conditions
  void read_under(const nb::object &conditions, double t, const Doubles &q, const Doubles &v, const Doubles &x,
                  const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out);

private:
  struct Source {
    int state = -1;  // 0 to 2: q v x
    int part = -1;   // of a report
    Kernel kernel{}; // of points
    nb::object points{};
    std::size_t offset = 0, size = 0; // in `numbers`
  };
  std::vector<Source> sources;
  struct Term {
    std::int32_t out, source, index;
    double factor;
  };
  std::size_t size;
  std::vector<Term> terms;
  std::vector<double> numbers;
  std::vector<const double *> values;         // of sources, in one call
  bool needs_report = false, needs_a = false; // a: accelerations, by points
  std::size_t a_offset = 0;

  void add(const nb::handle &given, const ModelData &m);
  bool evaluate_report(const BoundModel &model, const Conditions &conditions, const State &state);
};

void add_state_reader(nb::module_ &module);

} // namespace dalembert::bind
