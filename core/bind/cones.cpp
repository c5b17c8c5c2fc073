#include "bind/cones.hpp"
#include "bind/batch.hpp"
#include "kernels/dispatch.hpp"
#include "numerics/cone_solver.hpp"
#include "numerics/cone_sweeps.hpp"
#include <algorithm>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

nb::object array_of(const std::vector<double> &values, std::size_t count) {
  return doubles(values.data(), {npy_intp(count)});
}

ConeProblem problem_of(const Doubles &D, const Doubles &b, const Doubles &mu) {
  const std::size_t m = mu.size();
  if (b.size() != 3 * m || D.size() != 9 * m * m)
    throw nb::value_error("the sizes of the cone problem do not fit");
  return {int(m), D.data(), b.data(), mu.data()};
}

} // namespace

void add_cones(nb::module_ &module) {
  module.def(
      "solve_cone_problem",
      [](const Doubles &D, const Doubles &b, const Doubles &mu, const Doubles &start, double tolerance) {
        const ConeProblem p = problem_of(D, b, mu);
        ConeSolver solver;
        solver.reserve(p.m);
        const bool warm = start.size() > 0;
        if (warm && start.size() != b.size())
          throw nb::value_error("the start of the cone problem does not fit");
        std::copy_n(start.data(), start.size(), solver.lam.begin());
        best_kernels().solve_cone_problem(p, solver, tolerance, warm);
        return nb::make_tuple(array_of(solver.lam, b.size()), array_of(solver.u, b.size()), solver.missed,
                              solver.newton_steps, solver.admm_iterations, solver.admm_factorizations);
      },
      nb::arg("D"), nb::arg("b"), nb::arg("mu"), nb::arg("start"), nb::arg("tolerance"));
  module.def(
      "sweep_cone_problem",
      [](const Places &block, const Places &start, const Places &at, const Doubles &J, const Doubles &Y,
         const Doubles &bias, const Doubles &mu, const Doubles &v, double tolerance, int most) {
        const std::size_t m = mu.size();
        const std::vector<std::int32_t> blocks(block.data(), block.data() + block.size());
        const std::vector<std::int32_t> starts(start.data(), start.data() + start.size());
        const std::vector<std::int64_t> places(at.data(), at.data() + at.size());
        if (blocks.size() != 2 * m || places.size() != 2 * m || bias.size() != 3 * m || J.size() != Y.size())
          throw nb::value_error("the sizes of the cone problem do not fit");
        const ConeBlocks p{int(m),   blocks.data(), starts.data(), places.data(),
                           J.data(), Y.data(),      bias.data(),   mu.data()};
        std::vector<double> after(v.data(), v.data() + v.size()), lam(3 * m, 0.0), D(9 * m * m);
        ConeSweeps sweeps;
        best_kernels().prepare_sweeps(p, sweeps);
        best_kernels().sweep_cones(p, sweeps, tolerance, most, after.data(), lam.data());
        best_kernels().assemble_cone_matrix(p, D.data());
        return nb::make_tuple(array_of(lam, lam.size()), array_of(after, after.size()), sweeps.missed, sweeps.sweeps,
                              doubles(D.data(), {npy_intp(3 * m), npy_intp(3 * m)}));
      },
      nb::arg("block"), nb::arg("start"), nb::arg("at"), nb::arg("J"), nb::arg("Y"), nb::arg("bias"), nb::arg("mu"),
      nb::arg("v"), nb::arg("tolerance"), nb::arg("most"));
  module.def(
      "cone_residual",
      [](const Doubles &D, const Doubles &b, const Doubles &mu, const Doubles &lam) {
        const ConeProblem p = problem_of(D, b, mu);
        const int n = 3 * p.m;
        double found = 0.0;
        for (int i = 0; i < p.m; ++i) {
          double u[3], diagonal[3];
          for (int k = 0; k < 3; ++k) {
            const double *row = p.D + std::ptrdiff_t(3 * i + k) * n;
            u[k] = p.b[3 * i + k];
            for (int j = 0; j < n; ++j)
              u[k] += row[j] * lam.data()[j];
            diagonal[k] = row[3 * i + k];
          }
          const double d = cone_scale(p.mu[i], diagonal[0], diagonal[1], diagonal[2]);
          found = std::max(found, cone_residual(p.mu[i], d, lam.data() + 3 * i, u));
        }
        return found;
      },
      nb::arg("D"), nb::arg("b"), nb::arg("mu"), nb::arg("lam"));
  module.def(
      "solve_one_contact",
      [](const Doubles &D, const Doubles &b, double mu) {
        if (D.size() != 9 || b.size() != 3)
          throw nb::value_error("the sizes of the cone problem do not fit");
        std::vector<double> lam(3);
        const bool found = solve_one_contact(D.data(), b.data(), mu, lam.data());
        return nb::make_tuple(array_of(lam, 3), found);
      },
      nb::arg("D"), nb::arg("b"), nb::arg("mu"));
}

} // namespace dalembert::bind
