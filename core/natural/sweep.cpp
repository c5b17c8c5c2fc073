#include "natural/sweep.hpp"
#include <algorithm>

namespace dalembert::natural {

namespace {

struct Form {
  const Rows &table;
  const double *times, *values;
  std::ptrdiff_t samples;
  int nq, nv, rows;
  const double *row_scale, *column_scale;
  static constexpr bool oriented = true;
  std::vector<unsigned char> none;
  const unsigned char *known;
  Scratch scratch;
  std::vector<double> driven;     // 4 x driven, at the time that was looked at last
  const double *q_last = nullptr; // where positions were looked at last

  Form(const Rows &rows, const SweepCall &call, const double *values, const double *row_scale,
       const double *column_scale)
      : table(rows), times(call.times), values(values), samples(call.count), nq(rows.n), nv(rows.n), rows(rows.count),
        row_scale(row_scale), column_scale(column_scale), none(std::size_t(rows.n) + 1, 0), known(none.data()),
        scratch(rows), driven(4 * std::size_t(rows.driven) + 1) {}

  bool look(double t);
  void place(double *) const {}
  void pace(double *) const {}
  void press(double *) const {}
  void positions(const double *q, double *r, double *J) {
    residual(table, scratch, q, driven.data(), r);
    jacobian(table, scratch, q, driven.data(), J);
    q_last = q;
  }
  void rates(double *b) { velocity_terms(table, scratch, q_last, driven.data(), b); }
  void bends(const double *q, const double *v, double *c) {
    acceleration_terms(table, scratch, q, v, driven.data(), c);
  }
  bool thirds(const double *q, const double *v, const double *a, double *d, double *) {
    jerk_terms(table, scratch, q, v, a, driven.data(), d);
    return true;
  }
  void integrate(const double *q, const double *step, double *end) const {
    for (int k = 0; k < nv; ++k)
      end[k] = q[k] + step[k];
  }
  void difference(const double *q0, const double *q1, double *step) const {
    for (int k = 0; k < nv; ++k)
      step[k] = q1[k] - q0[k];
  }
};

bool Form::look(double t) {
  const std::ptrdiff_t m = table.driven;
  // times may fall as well as rise
  const bool rising = times[samples - 1] >= times[0];
  const double *after =
      std::lower_bound(times, times + samples, t, [rising](double x, double y) { return rising ? x < y : x > y; });
  const std::ptrdiff_t k = std::min<std::ptrdiff_t>(after - times, samples - 1);
  if (k == 0 || times[k] == t) {
    std::copy_n(values + 4 * m * k, 4 * m, driven.data());
    return true;
  }
  const double h = times[k] - times[k - 1], s = (t - times[k - 1]) / h;
  const double *begin = values + 4 * m * (k - 1), *goal = values + 4 * m * k;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    const double f0 = begin[i], f1 = goal[i], g0 = h * begin[m + i], g1 = h * goal[m + i];
    const double c2 = 3.0 * (f1 - f0) - 2.0 * g0 - g1, c3 = 2.0 * (f0 - f1) + g0 + g1;
    driven[i] = f0 + s * (g0 + s * (c2 + s * c3));
    driven[m + i] = (g0 + s * (2.0 * c2 + 3.0 * s * c3)) / h;
    driven[2 * m + i] = (2.0 * c2 + 6.0 * s * c3) / (h * h);
    driven[3 * m + i] = 6.0 * c3 / (h * h * h);
  }
  return true;
}

} // namespace

SweepStatus sweep_rows(const Rows &rows, const double *values, const double *row_scale, const double *column_scale,
                       double floor, SweepCall &call) {
  Form form(rows, call, values, row_scale, column_scale);
  kinematics::SweepWorkspace work;
  std::vector<std::byte> memory(kinematics::lay_out(form, nullptr, work) + 64);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  kinematics::lay_out(form, memory.data() + (64 - start % 64) % 64, work);
  return sweep(form, work, floor, call);
}

} // namespace dalembert::natural
