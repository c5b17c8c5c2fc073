#include "constraints/front_steps.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

namespace {

// R of a piece, by rows of `width` numbers
struct RootPiece {
  std::vector<double> R;
  int width = 0, count = 0;
  double *row(int k) { return R.data() + std::ptrdiff_t(k) * width; }

  // columns get other places, among `columns`
  void spread(const std::int32_t *place, int columns) {
    std::vector<double> moved(std::size_t(columns) * std::size_t(count), 0.0);
    for (int k = 0; k < count; ++k)
      for (int s = 0; s < width; ++s)
        moved[std::size_t(k) * std::size_t(columns) + std::size_t(place[s])] = row(k)[s];
    R.swap(moved);
    width = columns;
  }
  // without its first rows, and without its last columns
  void shrink(int rows, int columns) {
    std::vector<double> left(std::size_t(columns) * std::size_t(count - rows));
    for (int k = rows; k < count; ++k)
      std::copy_n(row(k), columns, left.data() + std::ptrdiff_t(k - rows) * columns);
    R.swap(left);
    count -= rows;
    width = columns;
  }

  // Householder's reflection that leaves column c nothing below row k; of columns [0, last) and c
  void reflect(int k, int c, int last) {
    double norm = 0.0;
    for (int i = k; i < count; ++i)
      norm += row(i)[c] * row(i)[c];
    norm = std::sqrt(norm);
    if (norm == 0.0)
      return;
    const double alpha = row(k)[c] > 0.0 ? -norm : norm, first = row(k)[c] - alpha;
    const double scale = 1.0 / (norm * (norm + std::fabs(row(k)[c]))); // 2 / |w|^2
    for (int t = 0; t < last; ++t) {
      double sum = first * row(k)[t];
      for (int i = k + 1; i < count; ++i)
        sum += row(i)[c] * row(i)[t];
      sum *= scale;
      row(k)[t] -= sum * first;
      for (int i = k + 1; i < count; ++i)
        row(i)[t] -= sum * row(i)[c];
    }
    row(k)[c] = alpha;
    for (int i = k + 1; i < count; ++i)
      row(i)[c] = 0.0;
  }

  // no more rows than columns
  void compress() {
    if (count <= 2 * width)
      return;
    for (int k = 0; k < width; ++k)
      reflect(k, width - 1 - k, width - 1 - k);
    R.resize(std::size_t(width) * std::size_t(width));
    count = width;
  }
};

} // namespace

// (8): rows leave, the one with the largest part left first. Returns how many are independent.
static int leave_by_roots(FrontWorkspace<double> &f, const LoopPlan &plan, const LoopStepData &step, RootPiece &root,
                          const double *leverage, double least, double &min_pivot) {
  const std::int32_t *rows = plan.indices + step.index;
  Load<double> *B = f.B + plan.pieces[step.body].slots;
  double *e = f.e + step.numbers;
  std::vector<std::int32_t> label(rows + step.after, rows + step.width);
  int rank = 0;
  for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
    int best = -1;
    double most = least;
    for (int t = step.after; t <= s; ++t) {
      const int r = label[std::size_t(t - step.after)];
      if (!(leverage[r] > least) || !(f.size[r] > 0.0))
        continue;
      double sum = 0.0;
      for (int k = rank; k < root.count; ++k)
        sum += root.row(k)[t] * root.row(k)[t];
      const double part = std::sqrt(sum / f.size[r]);
      if (part > most)
        most = part, best = t;
    }
    if (best >= 0) {
      std::swap(label[std::size_t(best - step.after)], label[std::size_t(s - step.after)]);
      std::swap(B[best], B[s]);
      for (int k = 0; k < root.count; ++k)
        std::swap(root.row(k)[best], root.row(k)[s]);
      double *before = f.e + step.numbers; // of rows that have left already
      for (int k = step.width - 1; k > s; before += k, --k)
        std::swap(before[best], before[s]);
    }
    f.left_row[number] = label[std::size_t(s - step.after)];
    f.left_B[number] = B[s];
    f.left_inverse[number] = 0.0;
    std::fill_n(e, s, 0.0);
    if (best >= 0) {
      root.reflect(rank, s, s);
      const double *row = root.row(rank), d = row[s] * row[s], inverse = 1.0 / d;
      f.left_inverse[number] = inverse;
      min_pivot = std::min(min_pivot, most * most);
      for (int t = 0; t < s; ++t) {
        e[t] = row[s] * row[t];
        const double l = inverse * e[t];
        B[t].n -= scale(l, B[s].n);
        B[t].f -= scale(l, B[s].f);
      }
      if (step.body)
        subtract_dyad(f.G[step.body], -inverse, B[s].n, B[s].f);
      ++rank;
    }
    e += s;
  }
  root.shrink(rank, step.after);
  return rank;
}

int factor_roots(const ModelData &m, const Workspace<double> &ws, FrontWorkspace<double> &f, const LoopPlan &plan,
                 const double *values, const double *leverage, double least, const unsigned char *given,
                 const FrontMetric &metric, double &min_pivot) {
  start_factors(m, ws, f, plan, given, metric);
  std::vector<RootPiece> roots(std::size_t(m.nb) + 1);
  int rank = 0;
  for (int k = 0; k < plan.step_count; ++k) {
    const LoopStepData &step = plan.steps[k];
    RootPiece &root = roots[std::size_t(step.body)];
    switch (step.kind) {
    case LoopStepKind::open:
      open_piece(m, ws, f, plan, step, given, metric);
      root.width = step.after;
      break;
    case LoopStepKind::merge: {
      merge_loads(m, ws, f, plan, step);
      RootPiece &child = roots[std::size_t(step.child)];
      const std::int32_t *place = plan.indices + step.index;
      root.spread(place, step.after);
      child.spread(place + step.width, step.after);
      root.R.insert(root.R.end(), child.R.begin(), child.R.end());
      root.count += child.count;
      child = RootPiece{};
      root.compress();
      break;
    }
    case LoopStepKind::joint:
      eliminate_front_joint(m, ws, f, plan, step, values, given, metric,
                            [&](const double *p, const Pivot<double> *pivot) {
                              for (int k = 0; k < m.bodies[step.body].nv && step.width; ++k, p += step.width) {
                                if (!(pivot[k].inverse > 0.0))
                                  continue;
                                const double scale = std::sqrt(pivot[k].inverse);
                                for (int s = 0; s < step.width; ++s)
                                  root.R.push_back(scale * p[s]);
                                ++root.count;
                              }
                            });
      root.compress();
      break;
    case LoopStepKind::leave:
      rank += leave_by_roots(f, plan, step, root, leverage, least, min_pivot);
      break;
    }
  }
  return rank;
}
int factor_by_roots(const ModelData &m, const Workspace<double> &ws, FrontWorkspace<double> &f, const LoopPlan &plan,
                    const double *values, const double *leverage, double least, const unsigned char *given,
                    double &min_pivot) {
  return factor_roots(m, ws, f, plan, values, leverage, least, given, {}, min_pivot);
}

} // namespace dalembert::DALEMBERT_ISA
