// Chosen numbers of a state: coordinates and velocities, parts of a report, poses and motions of points.
//
//     out_k = sum over terms j of k: factor_j * source_j[index_j]
//
// Sources are evaluated once for all columns, without allocation.
#pragma once

#include "kernels/kernels.hpp"
#include "runs/memory_pool.hpp"
#include <vector>

namespace dalembert {

// numbers of one part of a report of one state
std::size_t report_size(int part, const ModelData &m);

class StateReader {
public:
  // a state of a run
  struct State {
    double t;
    const double *q, *v, *x;
  };
  struct Term {
    std::int32_t out, source, index;
    double factor;
  };

  // Sources in order; false if there is none of that number, or the points are no single point of the model. `points`
  // must stay where they point.
  bool add_state(int which, const ModelData &m); // 0 to 2: q v x
  bool add_part(int part, const ModelData &m);   // of a report
  bool add_points(Kernel kernel, const PointsData &points, const ModelData &m);
  // after all sources; false if a term does not exist
  bool set_terms(std::size_t count, std::vector<Term> all, const ModelData &m);

  std::size_t count() const { return size; }
  // fills `out` (count); false if what is evaluated outside has failed
  bool read(const KernelSet &kernels, const ModelData &m, BlockPool &memory, const Conditions &conditions,
            const State &state, double *out);

private:
  struct Source {
    int state = -1;  // 0 to 2: q v x
    int part = -1;   // of a report
    Kernel kernel{}; // of points
    PointsData points{};
    std::size_t offset = 0, size = 0; // in `numbers`
  };
  std::vector<Source> sources;
  std::size_t size = 0;
  std::vector<Term> terms;
  std::vector<double> numbers;
  std::vector<const double *> values;         // of sources, in one call
  bool needs_report = false, needs_a = false; // a: accelerations, by points
  std::size_t a_offset = 0;

  bool add(Source source);
  bool evaluate_report(const KernelSet &kernels, const ModelData &m, BlockPool &memory, const Conditions &conditions,
                       const State &state);
};

} // namespace dalembert
