#include "steppers/variational.hpp"
#include "scalar/pack.hpp"
#include "steppers/methods/tableaus.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr const Tableau &tableau = dop853_tableau;
constexpr int stages = 12;

DALEMBERT_INLINE Pack load(const double *from) {
  Pack x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
DALEMBERT_INLINE void store(const Pack &x, double *to) { std::memcpy(to, &x, sizeof x); }

// y += a x
DALEMBERT_INLINE void add(std::ptrdiff_t n, double a, const double *x, double *y) {
  std::ptrdiff_t k = 0;
  for (const Pack factor(a); k + W <= n; k += W)
    store(load(y + k) + factor * load(x + k), y + k);
  for (; k < n; ++k)
    y[k] += a * x[k];
}

// part of the sums of `combine`, in registers
template <int Packs>
DALEMBERT_INLINE void sums(const double *weights, int count, const double *rows, std::ptrdiff_t apart, double *y) {
  Pack total[Packs];
  for (int p = 0; p < Packs; ++p)
    total[p] = Pack(0.0);
  for (int j = 0; j < count; ++j)
    for (int p = 0; p < Packs; ++p)
      total[p] = total[p] + Pack(weights[j]) * load(rows + j * apart + p * W);
  for (int p = 0; p < Packs; ++p)
    store(total[p], y + p * W);
}

// y = sum of weights times rows that lie `apart` from each other
DALEMBERT_INLINE void combine(std::ptrdiff_t n, const double *weights, int count, const double *rows,
                              std::ptrdiff_t apart, double *y) {
  std::ptrdiff_t k = 0;
  for (; k + 8 * W <= n; k += 8 * W)
    sums<8>(weights, count, rows + k, apart, y + k);
  for (; k + 4 * W <= n; k += 4 * W)
    sums<4>(weights, count, rows + k, apart, y + k);
  for (; k + W <= n; k += W)
    sums<1>(weights, count, rows + k, apart, y + k);
  for (; k < n; ++k) {
    double sum = 0.0;
    for (int j = 0; j < count; ++j)
      sum += weights[j] * rows[j * apart + k];
    y[k] = sum;
  }
}

// Rows x Packs of a product of matrices, C = A Y with A of n columns in rows that lie `apart`, all sums in registers:
// as many as keep the processor busy while one of them is on its way
template <int Rows, int Packs> DALEMBERT_INLINE void tile(int n, const double *A, std::ptrdiff_t apart, const double *Y,
                                                          std::ptrdiff_t columns, double *C) {
  Pack total[Rows][Packs];
  for (int r = 0; r < Rows; ++r)
    for (int p = 0; p < Packs; ++p)
      total[r][p] = Pack(0.0);
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < Packs; ++p) {
      const Pack y = load(Y + j * columns + p * W);
      for (int r = 0; r < Rows; ++r)
        total[r][p] = total[r][p] + Pack(A[r * apart + j]) * y;
    }
  for (int r = 0; r < Rows; ++r)
    for (int p = 0; p < Packs; ++p)
      store(total[r][p], C + r * columns + p * W);
}

// Rows of the same
template <int Rows> DALEMBERT_INLINE void band(int n, const double *A, std::ptrdiff_t apart, const double *Y,
                                               std::ptrdiff_t columns, double *C) {
  std::ptrdiff_t k = 0;
  for (; k + 2 * W <= columns; k += 2 * W)
    tile<Rows, 2>(n, A, apart, Y + k, columns, C + k);
  for (; k + W <= columns; k += W)
    tile<Rows, 1>(n, A, apart, Y + k, columns, C + k);
  for (; k < columns; ++k)
    for (int r = 0; r < Rows; ++r) {
      double sum = 0.0;
      for (int j = 0; j < n; ++j)
        sum += A[r * apart + j] * Y[j * columns + k];
      C[r * columns + k] = sum;
    }
}

// C = A Y: rows x n times n x columns
void multiply(int rows, int n, const double *A, std::ptrdiff_t apart, const double *Y, std::ptrdiff_t columns,
              double *C) {
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    band<4>(n, A + r * apart, apart, Y, columns, C + r * columns);
  for (; r < rows; ++r)
    band<1>(n, A + r * apart, apart, Y, columns, C + r * columns);
}

// Lagrange's polynomials by the second barycentric formula (Berrut and Trefethen 2004)
class Lagrange {
public:
  Lagrange(const double *place, int count) : place(place), weight(std::size_t(count), 1.0) {
    for (int j = 0; j < count; ++j)
      for (int k = 0; k < count; ++k)
        if (k != j)
          weight[std::size_t(j)] /= place[j] - place[k];
  }
  void at(double x, double *values) const {
    const int count = int(weight.size());
    double sum = 0.0;
    for (int j = 0; j < count; ++j) {
      const double apart = x - place[j];
      if (apart == 0.0) {
        std::fill_n(values, count, 0.0);
        values[j] = 1.0;
        return;
      }
      sum += values[j] = weight[std::size_t(j)] / apart;
    }
    for (int j = 0; j < count; ++j)
      values[j] /= sum;
  }

private:
  const double *place;
  std::vector<double> weight;
};

// (1) at the stages of steps
struct Matrices {
  const Variations &all;
  const int columns; // of these, that are wanted
  const Lagrange lagrange;
  std::vector<double> values; // L_j, stages x s
  std::vector<double> every;  // stages x rows x columns

  Matrices(const Variations &all, bool numbers)
      : all(all), columns(all.n + (numbers ? all.numbers : 0)), lagrange(all.place, all.places),
        values(std::size_t(stages * all.places)),
        every(std::size_t(stages) * std::size_t(all.rows) * std::size_t(columns)) {}

  double *weights(int stage) { return values.data() + std::ptrdiff_t(stage) * all.places; }
  void look(std::int64_t b, double begin, double length) {
    const double from = all.block_begin[b], span = all.block_end[b] - from;
    for (int i = 0; i < stages; ++i)
      lagrange.at(2.0 * (begin + tableau.c[i] * length - from) / span - 1.0, weights(i));
    put(all.matrices + b * all.places * all.rows * (all.n + all.numbers));
  }
  // rows x columns
  double *at(int stage) { return every.data() + std::ptrdiff_t(stage) * all.rows * columns; }

private:
  // those of all stages, from matrices at the places of a block
  void put(const double *node) {
    const std::ptrdiff_t width = all.n + all.numbers, size = all.rows * width;
    if (columns == width) // stages together: a block is large, and read as seldom as can be
      return multiply(stages, all.places, values.data(), all.places, node, size, every.data());
    for (int i = 0; i < stages; ++i)
      for (int r = 0; r < all.rows; ++r)
        combine(columns, weights(i), all.places, node + r * width, size, at(i) + std::ptrdiff_t(r) * columns);
  }
};

// How large changes have been lately, and the errors that steps make of them: the two estimates put together as the
// method does (Hairer, Norsett, Wanner 1993, II.10). Columns are taken together, each with its weight, so that the same
// steps are taken whether they go along one by one or as one.
class Judge {
public:
  Judge(const Variations &all, int columns, int judged, const double *weights, const double *y0)
      : all(all), columns(columns), judged(judged), weights(weights), rates(std::size_t(all.n) * std::size_t(columns)) {
    for (int part = 0; part < 2; ++part)
      about[part] = largest(part, y0);
  }
  // the error in a step to y, with the rates K of its stages, as a part of how large changes are about there
  double of(double h, const double *y, const double *K) {
    double high[2], low[2], worst = 0.0;
    estimate(tableau.e, K, high);
    estimate(tableau.e3, K, low);
    for (int part = 0; part < 2; ++part) {
      now[part] = std::max(largest(part, y), fading * about[part]);
      if (const double e = high[part], e3 = low[part]; e > 0.0)
        worst = std::max(worst, h * e * e / std::sqrt(e * e + 0.01 * e3 * e3) / now[part]);
      else if (!(e == 0.0))
        return std::numeric_limits<double>::infinity();
    }
    return worst;
  }
  void accept() { about[0] = now[0], about[1] = now[1]; }

private:
  static constexpr double fading = 0.9; // of what has been in the step before
  const Variations &all;
  const int columns, judged;
  const double *weights;
  std::vector<double> rates;
  double about[2] = {}, now[2] = {};

  double largest(int part, const double *y) const {
    double most = 0.0;
    for (std::ptrdiff_t r = part ? all.split : 0; r < (part ? all.n : all.split); ++r) {
      double sum = 0.0;
      for (int c = 0; c < judged; ++c)
        sum += weights[c] * y[r * columns + c];
      most = std::max(std::fabs(sum), most);
      if (sum != sum)
        return sum;
    }
    return most;
  }
  void estimate(const double *e, const double *K, double *found) {
    const std::ptrdiff_t size = std::ptrdiff_t(all.n) * columns;
    combine(size, e, stages, K, size, rates.data());
    for (int part = 0; part < 2; ++part)
      found[part] = largest(part, rates.data());
  }
};

constexpr int max_parts = 64; // of a step
constexpr double order = 8.0; // of errors in a step

class Forward {
public:
  Forward(const Variations &all, int columns)
      : all(all), columns(columns), size(std::ptrdiff_t(all.n) * columns), matrices(all, all.numbers > 0),
        Y(std::size_t(size)), K(std::size_t(stages * size)) {}
  // from y to y1, in a block from a time on for a length
  void step(std::int64_t block, double begin, double h, const double *y, double *y1) {
    const std::ptrdiff_t lead = all.n - all.rows;
    matrices.look(block, begin, h);
    for (int i = 0; i < stages; ++i) {
      double *rate = K.data() + i * size;
      std::copy_n(y, size, Y.begin());
      for (int j = 0; j < i; ++j)
        if (const double a = tableau.a[i * tableau.width + j]; a != 0.0)
          add(size, h * a, K.data() + j * size, Y.data());
      const double *matrix = matrices.at(i);
      std::copy_n(Y.data() + lead * columns, lead * columns, rate);
      multiply(all.rows, all.n, matrix, matrices.columns, Y.data(), columns, rate + lead * columns);
      for (int r = 0; r < all.rows; ++r)
        add(all.numbers, 1.0, matrix + std::ptrdiff_t(r) * matrices.columns + all.n, rate + (lead + r) * columns);
    }
    std::copy_n(y, size, y1);
    for (int i = 0; i < stages; ++i)
      if (tableau.b[i] != 0.0)
        add(size, h * tableau.b[i], K.data() + i * size, y1);
  }
  const double *rates() const { return K.data(); }

private:
  const Variations &all;
  const int columns;
  const std::ptrdiff_t size;
  Matrices matrices;
  std::vector<double> Y, K;
};

void forward(const Variations &all, int columns, const double *y0, int judged, const double *weights, double rtol,
             double *kept, std::int64_t *parts) {
  const std::ptrdiff_t size = std::ptrdiff_t(all.n) * columns;
  Forward forward(all, columns);
  std::vector<double> y(y0, y0 + size), y1(y.size()), begun(y.size());
  Judge judge(all, columns, judged, weights, y0);
  int count = 1; // parts of a step, as many as the one before had
  for (std::ptrdiff_t step = 0; step < all.steps; ++step) {
    begun = y;
    double off = 0.0;
    for (;;) {
      const double h = all.length[step] / count;
      for (int k = 0; k < count; ++k, y.swap(y1)) {
        forward.step(all.block[step], all.begin[step] + k * h, h, y.data(), y1.data());
        off = std::max(k ? off : 0.0, judged ? judge.of(h, y1.data(), forward.rates()) / rtol : 0.0);
      }
      if (!(off > 1.0) || count == max_parts)
        break;
      count = int(std::clamp(std::ceil(count * std::pow(off, 1.0 / order)), count + 1.0, double(max_parts)));
      y = begun;
    }
    parts[step] = count;
    judge.accept();
    if (count > 1 && off * std::pow(count / (count - 1.0), order) < 0.5)
      --count;
    if (all.kept[step] >= 0)
      std::copy(y.begin(), y.end(), kept + all.kept[step] * size);
  }
}

void backward(const Variations &all, int columns, const double *seeds, double *l, double *w) {
  const std::ptrdiff_t size = std::ptrdiff_t(all.n) * columns, lead = all.n - all.rows,
                       low = std::ptrdiff_t(all.rows) * columns;
  Matrices matrices(all, false);
  std::vector<double> back(std::size_t(stages) * std::size_t(size));
  std::vector<double> k(back.begin(), back.begin() + size);
  std::fill_n(l, size, 0.0);
  for (std::ptrdiff_t step = all.steps; step-- > 0;) {
    const double h = all.length[step];
    if (all.kept[step] >= 0)
      add(size, 1.0, seeds + all.kept[step] * size, l);
    matrices.look(all.block[step], all.begin[step], h);
    for (int i = stages; i-- > 0;) {
      double *to = back.data() + i * size; // A_i^T k_i
      std::fill(k.begin(), k.end(), 0.0);
      add(size, h * tableau.b[i], l, k.data());
      for (int j = i + 1; j < stages; ++j)
        if (const double a = tableau.a[j * tableau.width + i]; a != 0.0)
          add(size, h * a, back.data() + j * size, k.data());
      std::fill_n(to, size, 0.0);
      const double *matrix = matrices.at(i);
      add(lead * columns, 1.0, k.data(), to + lead * columns);
      const double *mine = k.data() + lead * columns;
      for (int r = 0; r < all.rows; ++r) {
        const double *row = matrix + std::ptrdiff_t(r) * all.n;
        if (columns == 1)
          add(all.n, mine[r], row, to);
        else
          for (int f = 0; f < all.n; ++f)
            add(columns, row[f], mine + std::ptrdiff_t(r) * columns, to + std::ptrdiff_t(f) * columns);
      }
      if (w)
        for (int j = 0; j < all.places; ++j)
          add(low, matrices.weights(i)[j], mine, w + (all.block[step] * all.places + j) * low);
    }
    for (int i = 0; i < stages; ++i)
      add(size, 1.0, back.data() + i * size, l);
  }
}

} // namespace

extern const VariationSet variations;
const VariationSet variations{forward, backward};

} // namespace dalembert::DALEMBERT_ISA
