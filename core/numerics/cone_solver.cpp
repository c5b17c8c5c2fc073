#include "numerics/cone_solver.hpp"
#include "numerics/largest.hpp"
#include <algorithm>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double proximal_part = 1e-8; // of the mean diagonal of D
constexpr int newton_first = 12;       // steps before ADMM takes over
constexpr int max_newton_steps = 40;   // from an iterate of ADMM, while each step improves
constexpr int max_admm_iterations = 1300;
constexpr int newton_tries[] = {5, 15, 40, 80, 160, 320, 640, 1280}; // iterations of ADMM
constexpr int penalty_interval = 10;                                 // iterations between changes of rho
constexpr double penalty_factor = 3.0, imbalance = 10.0;
constexpr double least_eigenvalue = 1e-9; // of the largest: smaller ones do not set rho
constexpr int power_iterations = 8;
constexpr double least_step = 1e-3, decrease = 1e-4; // of the line search
constexpr double most_rounding = 1e-9; // of the largest |b|: impulses whose rounding is larger are no solution
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

std::size_t at(int k) { return std::size_t(k); }

bool is_zero(const double *block, int n) {
  for (int i = 0; i < 3; ++i, block += n)
    if (block[0] != 0.0 || block[1] != 0.0 || block[2] != 0.0)
      return false;
  return true;
}

// one solution, in the memory of a solver
struct Solution {
  const ConeProblem &p;
  ConeSolver &s;
  std::vector<double> &lam = s.lam, &u = s.u, &d = s.d, &F = s.F, &slope = s.slope, &step = s.step, &right = s.right;
  std::vector<double> &start = s.start, &best = s.best, &z = s.z, &z_free = s.z_free, &y = s.y, &shift = s.shift;
  std::vector<int> &unknown = s.unknown, &place = s.place;
  std::vector<ConeSolver::Extent> &extent = s.extent;
  dense::EnvelopeLu &lu = s.lu;
  double tolerance, proximal = 0.0, limit = 0.0;
  double best_missed = infinity;
  double primal = 0.0, dual = 0.0; // residuals of (3)

  bool solve(bool warm);

private:
  bool converged() const { return s.missed <= limit; }
  void prepare();
  // u and the residual of lam
  void evaluate();
  void multiply(const std::vector<double> &from, std::vector<double> &to) const;
  double value();
  bool newton(int most);
  bool newton_direction();
  void fill_newton_row(int number, int i, int k);
  bool admm();
  bool factor_admm(double added);
  double admm_penalty();
  void admm_step(double rho);
  bool newton_from_admm();
  void keep_best(int n);
};

void Solution::prepare() {
  const int n = 3 * p.m;
  double trace = 0.0;
  for (int i = 0; i < p.m; ++i) {
    const double *rows = p.D + std::ptrdiff_t(3 * i) * n;
    ConeSolver::Extent e{0, p.m};
    while (e.first < i && is_zero(rows + 3 * e.first, n))
      ++e.first;
    while (e.last > i + 1 && is_zero(rows + 3 * (e.last - 1), n))
      --e.last;
    extent[at(i)] = e;
    const double diagonal[3] = {rows[3 * i], rows[n + 3 * i + 1], rows[2 * n + 3 * i + 2]};
    d[at(i)] = cone_scale(p.mu[i], diagonal[0], diagonal[1], diagonal[2]);
    trace += diagonal[0] + diagonal[1] + diagonal[2];
  }
  proximal = proximal_part * trace / std::max(n, 1);
}

void Solution::multiply(const std::vector<double> &from, std::vector<double> &to) const {
  const int n = 3 * p.m;
  for (int i = 0; i < p.m; ++i) {
    const ConeSolver::Extent &e = extent[at(i)];
    for (int r = 3 * i; r < 3 * i + 3; ++r) {
      const double *row = p.D + std::ptrdiff_t(r) * n;
      double sum = 0.0;
      for (int j = 3 * e.first; j < 3 * e.last; ++j)
        sum += row[j] * from[at(j)];
      to[at(r)] = sum;
    }
  }
}

void Solution::evaluate() {
  multiply(lam, u);
  s.missed = 0.0;
  double terms = 0.0, given = 0.0; // largest of what cancels in u, and of b
  for (int i = 0; i < p.m; ++i) {
    for (int r = 3 * i; r < 3 * i + 3; ++r) {
      terms = std::max(terms, std::fabs(u[at(r)])), given = std::max(given, std::fabs(p.b[r]));
      u[at(r)] += p.b[r];
    }
    const double *mine = &lam[at(3 * i)];
    terms = std::max(terms, d[at(i)] * std::max(std::fabs(mine[2]), std::max(std::fabs(mine[0]), std::fabs(mine[1]))));
    s.missed = std::max(s.missed, cone_residual(p.mu[i], d[at(i)], mine, &u[at(3 * i)]));
  }
  const double rounding = 8.0 * epsilon * std::max(terms, given), most = std::max(tolerance, most_rounding * given);
  if (!(s.missed < infinity) || rounding > most)
    s.missed = infinity;
  limit = std::max(tolerance, std::min(rounding, most));
}

// slope of the projection of x onto a ball; zero for rows that a block does not have
static void fill_ball_slope(const ConeProblem &p, int i, const double x[3], double radius, double A[9]) {
  const double size = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  const auto has = [&](int r) { return p.D[std::ptrdiff_t(3 * i + r) * 3 * p.m + 3 * i + r] > 0.0; };
  const bool alone = !has(1) && !has(2);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
      if (has(r) && has(c))
        A[3 * r + c] = size <= radius ? double(r == c)
                       : alone        ? 0.0
                                      : radius / size * (double(r == c) - x[r] * x[c] / (size * size));
}

// F of (1) and A of (2) at lam and u; returns |F|
double Solution::value() {
  double square = 0.0;
  for (int i = 0; i < p.m; ++i) {
    const double scale = d[at(i)], mu = p.mu[i];
    const double *l = &lam[at(3 * i)], *w = &u[at(3 * i)];
    double *f = &F[at(3 * i)], *A = &slope[at(9 * i)];
    std::fill_n(A, 9, 0.0);
    const double xn = scale * l[2] - w[2], xt[2] = {scale * l[0] - w[0], scale * l[1] - w[1]};
    f[0] = scale * l[0], f[1] = scale * l[1], f[2] = scale * l[2];
    if (mu < 0.0) {
      const double x[3] = {xt[0], xt[1], xn}, most = -mu * scale;
      double onto[3];
      project_on_ball(most, x, onto);
      f[0] -= onto[0], f[1] -= onto[1], f[2] -= onto[2];
      fill_ball_slope(p, i, x, most, A);
    } else if (xn > 0.0 && scale > 0.0) {
      const double size = std::hypot(xt[0], xt[1]), most = mu * xn;
      f[2] -= xn, A[8] = 1.0;
      if (size <= most) {
        f[0] -= xt[0], f[1] -= xt[1];
        A[0] = A[4] = 1.0;
      } else if (most > 0.0) {
        const double e[2] = {xt[0] / size, xt[1] / size}, part = most / size;
        f[0] -= most * e[0], f[1] -= most * e[1];
        A[0] = part * (1.0 - e[0] * e[0]), A[4] = part * (1.0 - e[1] * e[1]);
        A[1] = A[3] = -part * e[0] * e[1];
        A[2] = mu * e[0], A[5] = mu * e[1];
      }
    }
    square += f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
  }
  return std::sqrt(square);
}

// row k of contact i, of (2)
void Solution::fill_newton_row(int number, int i, int k) {
  const int n = 3 * p.m;
  const double *A = &slope[at(9 * i + 3 * k)];
  const ConeSolver::Extent &e = extent[at(i)];
  int from = 3 * e.first, to = 3 * e.last;
  while (from < 3 * i && place[at(from)] < 0)
    ++from;
  while (to > 3 * i + 3 && place[at(to - 1)] < 0)
    --to;
  const int first = place[at(from)] >= 0 ? place[at(from)] : number;
  int end = number + 1;
  for (int j = to - 1; j >= 3 * i; --j)
    if (place[at(j)] >= 0) {
      end = place[at(j)] + 1;
      break;
    }
  double *row = lu.row(number, std::min(first, number), end);
  const double *D = p.D + std::ptrdiff_t(3 * i) * n;
  const bool sticks = A[k] == 1.0 && A[(k + 1) % 3] == 0.0 && A[(k + 2) % 3] == 0.0;
  if (sticks && place[at(from)] >= 0 && end - first == to - from) { // the row of D, without gaps
    std::copy(D + k * n + from, D + k * n + to, row + first);
  } else {
    for (int j = from; j < to; ++j)
      if (place[at(j)] >= 0)
        row[place[at(j)]] = A[0] * D[j] + A[1] * D[n + j] + A[2] * D[2 * n + j];
  }
  for (int c = 0; c < 3; ++c)
    if (place[at(3 * i + c)] >= 0)
      row[place[at(3 * i + c)]] += A[c] * proximal + d[at(i)] * ((c == k ? 1.0 : 0.0) - A[c]);
}

// step of (2); false if it has no solution
bool Solution::newton_direction() {
  unknown.clear();
  bool others = false; // impulses change that are no unknowns
  for (int i = 0; i < p.m; ++i)
    for (int k = 0; k < 3; ++k) {
      const int r = 3 * i + k;
      const double *A = &slope[at(9 * i + 3 * k)];
      const bool open = A[0] == 0.0 && A[1] == 0.0 && A[2] == 0.0;
      place[at(r)] = open ? -1 : int(unknown.size());
      step[at(r)] = !open ? 0.0 : p.mu[i] < 0.0 && d[at(i)] > 0.0 ? -F[at(r)] / d[at(i)] : -lam[at(r)];
      others |= step[at(r)] != 0.0;
      if (!open)
        unknown.push_back(r);
    }
  if (others)
    multiply(step, right);
  lu.begin(int(unknown.size()));
  for (int number = 0; number < int(unknown.size()); ++number) {
    const int r = unknown[at(number)], i = r / 3;
    const double *A = &slope[at(9 * i + 3 * (r % 3))];
    double sum = -F[at(r)];
    for (int c = 0; c < 3; ++c) {
      if (others)
        sum -= A[c] * right[at(3 * i + c)];
      if (place[at(3 * i + c)] < 0)
        sum -= (A[c] * proximal - d[at(i)] * A[c]) * step[at(3 * i + c)];
    }
    z_free[at(number)] = sum;
    fill_newton_row(number, i, r % 3);
  }
  if (!lu.factor())
    return false;
  lu.solve(z_free.data());
  for (int number = 0; number < int(unknown.size()); ++number)
    step[at(unknown[at(number)])] = z_free[at(number)];
  return true;
}

void Solution::keep_best(int n) {
  if (s.missed < best_missed) {
    best_missed = s.missed;
    std::copy_n(lam.begin(), n, best.begin());
  }
}

// Newton's method from lam, damped.
bool Solution::newton(int most) {
  const int n = 3 * p.m;
  evaluate();
  for (int k = 0; k < most; ++k) {
    keep_best(n);
    if (converged())
      return true;
    const double before = value();
    if (!newton_direction())
      return false;
    ++s.newton_steps;
    std::copy_n(lam.begin(), n, start.begin());
    for (double part = 1.0; part > least_step; part *= 0.5) {
      for (int r = 0; r < n; ++r)
        lam[at(r)] = start[at(r)] + part * step[at(r)];
      evaluate();
      if (converged() || value() <= (1.0 - decrease * part) * before)
        break;
    }
  }
  keep_best(n);
  return converged();
}

bool Solution::factor_admm(double added) {
  const int n = 3 * p.m;
  lu.begin(n);
  for (int r = 0; r < n; ++r) {
    const ConeSolver::Extent &e = extent[at(r / 3)];
    double *row = lu.row(r, 3 * e.first, 3 * e.last);
    std::copy(p.D + std::ptrdiff_t(r) * n + 3 * e.first, p.D + std::ptrdiff_t(r) * n + 3 * e.last, row + 3 * e.first);
    row[r] += added;
  }
  ++s.admm_factorizations;
  return lu.factor();
}

// rho between the largest and the least eigenvalue of D, both by power iterations
double Solution::admm_penalty() {
  const int n = 3 * p.m;
  double top = 0.0, least = 0.0;
  for (int r = 0; r < n; ++r)
    step[at(r)] = 1.0 + 0.1 * std::sin(double(r));
  for (int k = 0; k < power_iterations; ++k) {
    multiply(step, right);
    top = largest(right.data(), n);
    if (!(top > 0.0))
      return 1.0;
    for (int r = 0; r < n; ++r)
      step[at(r)] = right[at(r)] / top;
  }
  if (factor_admm(least_eigenvalue * top)) {
    for (int r = 0; r < n; ++r)
      step[at(r)] = 1.0 + 0.1 * std::sin(double(r));
    for (int k = 0; k < power_iterations; ++k) {
      lu.solve(step.data());
      least = 1.0 / largest(step.data(), n);
      for (int r = 0; r < n; ++r)
        step[at(r)] *= least;
    }
  }
  least = std::max(least, least_eigenvalue * top);
  return std::sqrt(top * least) * std::pow(top / least, 0.05);
}

// one iteration of (3)
void Solution::admm_step(double rho) {
  const int n = 3 * p.m;
  for (int r = 0; r < n; ++r)
    z_free[at(r)] = rho * z[at(r)] - y[at(r)] - p.b[r] - shift[at(r)];
  lu.solve(z_free.data());
  primal = dual = 0.0;
  for (int i = 0; i < p.m; ++i) {
    double moved[3], onto[3];
    for (int c = 0; c < 3; ++c)
      moved[c] = z_free[at(3 * i + c)] + y[at(3 * i + c)] / rho;
    project_on_cone(p.mu[i], moved, onto);
    for (int c = 0; c < 3; ++c) {
      const std::size_t r = at(3 * i + c);
      primal = std::max(primal, std::fabs(z_free[r] - onto[c]));
      dual = std::max(dual, rho * std::fabs(onto[c] - z[r]));
      y[r] += rho * (z_free[r] - onto[c]), z[r] = onto[c];
    }
    shift[at(3 * i + 2)] = std::max(p.mu[i], 0.0) * std::hypot(y[at(3 * i)], y[at(3 * i + 1)]);
  }
}

bool Solution::newton_from_admm() {
  std::copy_n(z.begin(), 3 * p.m, lam.begin());
  double before = infinity;
  // further steps while they improve by a digit
  for (int k = 0; k < max_newton_steps; k += newton_first) {
    if (newton(newton_first))
      return true;
    if (!(s.missed < 0.1 * before))
      return false;
    before = s.missed;
  }
  return false;
}

bool Solution::admm() {
  const int n = 3 * p.m;
  std::copy_n(lam.begin(), n, z.begin());
  evaluate();
  for (int i = 0; i < p.m; ++i) {
    shift[at(3 * i)] = shift[at(3 * i + 1)] = 0.0;
    shift[at(3 * i + 2)] = std::max(p.mu[i], 0.0) * std::hypot(u[at(3 * i)], u[at(3 * i + 1)]);
  }
  for (int r = 0; r < n; ++r)
    y[at(r)] = -(u[at(r)] + shift[at(r)]);
  double rho = admm_penalty();
  bool factored = false;
  const int *next_try = newton_tries;
  for (s.admm_iterations = 1; s.admm_iterations <= max_admm_iterations; ++s.admm_iterations) {
    if (!factored && !factor_admm(rho))
      return false;
    factored = true;
    admm_step(rho);
    if (next_try != std::end(newton_tries) && s.admm_iterations == *next_try) {
      ++next_try, factored = false;
      if (newton_from_admm())
        return true;
    }
    if (s.admm_iterations % penalty_interval)
      continue;
    if (primal * rho > imbalance * dual)
      rho *= penalty_factor, factored = false;
    else if (dual > imbalance * primal * rho)
      rho /= penalty_factor, factored = false;
  }
  return false;
}

bool Solution::solve(bool warm) {
  const int n = 3 * p.m;
  s.newton_steps = s.admm_iterations = s.admm_factorizations = 0;
  s.missed = 0.0;
  if (!p.m)
    return true;
  prepare();
  if (!warm)
    std::fill_n(lam.begin(), n, 0.0);
  best_missed = infinity;
  std::copy_n(lam.begin(), n, y.begin());
  if (newton(newton_first))
    return true;
  std::copy_n(y.begin(), n, lam.begin());
  if (admm())
    return true;
  if (best_missed < infinity)
    std::copy_n(best.begin(), n, lam.begin());
  evaluate();
  return converged();
}

} // namespace

bool solve_cone_problem(const ConeProblem &p, ConeSolver &solver, double tolerance, bool warm) {
  return Solution{.p = p, .s = solver, .tolerance = tolerance}.solve(warm);
}

} // namespace dalembert::DALEMBERT_ISA
