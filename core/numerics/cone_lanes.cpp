#include "numerics/cone_lanes.hpp"
#include <algorithm>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double proximal_part = 1e-8; // of the mean diagonal of D
constexpr int max_steps = 12;
constexpr int max_halvings = 10;
constexpr double decrease = 1e-4;
constexpr double rounding = 8.0 * std::numeric_limits<double>::epsilon();
constexpr double most_rounding = 1e-9; // of the largest |b|

using P = Pack;
std::size_t at(int k) { return std::size_t(k); }
P positive(const P &x) { return larger(x, P(0.0)); }
P size_of(const P &x, const P &y) {
  const P square = x * x + y * y;
  const auto some = less(P(0.0), square);
  return select(some, root(select(some, square, P(1.0))), P(0.0));
}

} // namespace

void ConeLanes::reserve(int contacts) {
  m = contacts;
  const std::size_t n = at(3 * m);
  D.assign(n * n, P(0.0)), mu.assign(at(m), P(0.0));
  for (std::vector<P> *each : {&b, &lam, &u, &F, &step, &start})
    each->assign(n, P(0.0));
  d.assign(at(m), P(0.0)), A.assign(3 * n, P(0.0)), M.resize(n * n);
}

// u and the residual of lam: (3) of numerics/cone_problem.hpp
void ConeLanes::evaluate() {
  const int n = 3 * m;
  P given(0.0);
  missed = limit = P(0.0);
  for (int i = 0; i < m; ++i) {
    for (int r = 3 * i; r < 3 * i + 3; ++r) {
      P sum(0.0);
      for (int j = 0; j < n; ++j)
        sum = sum + D[at(r * n + j)] * lam[at(j)];
      given = larger(given, absolute(b[at(r)])), limit = larger(limit, larger(absolute(sum), given));
      u[at(r)] = sum + b[at(r)];
    }
    const P *l = &lam[at(3 * i)], *w = &u[at(3 * i)], scale = d[at(i)], k = mu[at(i)];
    limit = larger(limit, scale * larger(absolute(l[2]), larger(absolute(l[0]), absolute(l[1]))));
    const P x = scale * l[0] - w[0], y = scale * l[1] - w[1], z = scale * l[2] - w[2] - k * size_of(w[0], w[1]);
    // onto the cone
    const P size = size_of(x, y);
    const auto inside = less(size, k * z), polar = less(k * size, -z);
    const P push = select(polar, P(0.0), (z + k * size) / (1.0 + k * k));
    const auto some = less(P(0.0), size);
    const P part = select(some, k * push / select(some, size, P(1.0)), P(0.0));
    const P onto[3] = {select(inside, x, part * x), select(inside, y, part * y), select(inside, z, positive(push))};
    const P e[3] = {scale * l[0] - onto[0], scale * l[1] - onto[1], scale * l[2] - onto[2]};
    missed = larger(missed, e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
  }
  const auto some = less(P(0.0), missed);
  missed = select(some, root(select(some, missed, P(1.0))), P(0.0));
  const P most = most_rounding * given;
  limit = rounding * limit;
  limit = select(less(most, limit), most, limit);
}

// F and A of (1) and (2) of numerics/cone_solver.hpp; returns |F|^2
P ConeLanes::value() {
  P square(0.0);
  const P none(0.0), one(1.0);
  for (int i = 0; i < m; ++i) {
    const P *l = &lam[at(3 * i)], *w = &u[at(3 * i)], scale = d[at(i)];
    P *f = &F[at(3 * i)], *a = &A[at(9 * i)];
    const P x = scale * l[0] - w[0], y = scale * l[1] - w[1], z = scale * l[2] - w[2];
    const P size = size_of(x, y), most = mu[at(i)] * z;
    const auto pressed = both(less(none, z), less(none, scale));
    const auto sticks = both(pressed, opposite(less(most, size)));
    const auto slides = both(pressed, both(less(most, size), less(none, most)));
    const P over = one / select(less(none, size), size, one), ex = x * over, ey = y * over, part = most * over;
    f[0] = scale * l[0] - select(sticks, x, select(slides, most * ex, none));
    f[1] = scale * l[1] - select(sticks, y, select(slides, most * ey, none));
    f[2] = scale * l[2] - select(pressed, z, none);
    a[0] = select(sticks, one, select(slides, part * (1.0 - ex * ex), none));
    a[4] = select(sticks, one, select(slides, part * (1.0 - ey * ey), none));
    a[1] = a[3] = select(slides, -(part * ex * ey), none);
    a[2] = select(slides, mu[at(i)] * ex, none), a[5] = select(slides, mu[at(i)] * ey, none);
    a[8] = select(pressed, one, none);
    square = square + (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
  }
  return square;
}

// step of (2), by elimination
void ConeLanes::find_step() {
  const int n = 3 * m;
  for (int i = 0; i < m; ++i)
    for (int k = 0; k < 3; ++k) {
      const int r = 3 * i + k;
      const P *a = &A[at(9 * i + 3 * k)];
      P *row = &M[at(r * n)];
      const P *one = &D[at(3 * i * n)], *two = one + n, *three = two + n;
      for (int j = 0; j < n; ++j)
        row[j] = a[0] * one[j] + a[1] * two[j] + a[2] * three[j];
      const P scale = select(less(P(0.0), d[at(i)]), d[at(i)], P(1.0)); // of contacts that a lane does not have
      for (int c = 0; c < 3; ++c)
        row[3 * i + c] = row[3 * i + c] + a[c] * proximal + scale * ((c == k ? P(1.0) : P(0.0)) - a[c]);
      step[at(r)] = -F[at(r)];
    }
  for (int k = 0; k < n; ++k) {
    const P over = 1.0 / M[at(k * n + k)];
    for (int r = k + 1; r < n; ++r) {
      P *row = &M[at(r * n)];
      const P factor = row[k] * over, *pivot = &M[at(k * n)];
      for (int j = k + 1; j < n; ++j)
        row[j] = row[j] - factor * pivot[j];
      step[at(r)] = step[at(r)] - factor * step[at(k)];
    }
    M[at(k * n + k)] = over;
  }
  for (int r = n - 1; r >= 0; --r) {
    P sum = step[at(r)];
    for (int j = r + 1; j < n; ++j)
      sum = sum - M[at(r * n + j)] * step[at(j)];
    step[at(r)] = sum * M[at(r * n + r)];
  }
}

unsigned ConeLanes::solve(unsigned lanes, double tolerance, int steps[W]) {
  const int n = 3 * m;
  proximal = P(0.0);
  P count(0.0); // rows of each lane
  for (int i = 0; i < m; ++i) {
    const P x = D[at(3 * i * (n + 1))], y = D[at((3 * i + 1) * (n + 1))], z = D[at((3 * i + 2) * (n + 1))];
    d[at(i)] = select(less(P(0.0), mu[at(i)]), (x + y + z) / 3.0, z);
    proximal = proximal + (x + y + z);
    count = count + select(less(P(0.0), z), P(3.0), P(0.0));
  }
  proximal = proximal_part * proximal / larger(count, P(1.0));
  evaluate();
  const auto converged = [&] { return bits(less(missed, larger(P(tolerance), limit))); };
  resting = lanes & bits(less(missed, P(tolerance)));
  unsigned active = lanes & ~resting;
  for (int k = 0; k < max_steps && active; ++k) {
    P before = value();
    find_step();
    std::copy_n(lam.begin(), n, start.begin());
    unsigned searching = active;
    P part(1.0);
    for (int halving = 0; halving < max_halvings && searching; ++halving) {
      for (int lane = 0; lane < W; ++lane)
        part.set(lane, searching >> lane & 1u ? (halving ? 0.5 * part[lane] : 1.0) : active >> lane & 1u ? part[lane] : 0.0);
      for (int r = 0; r < n; ++r)
        lam[at(r)] = select(less(P(0.0), part), start[at(r)] + part * step[at(r)], start[at(r)]);
      evaluate();
      const unsigned done = converged();
      const P now = value(), share = 1.0 - decrease * part;
      searching &= ~(done | bits(less(now, share * share * before)));
    }
    for (int lane = 0; lane < W; ++lane)
      steps[lane] += int(active >> lane & 1u);
    active &= ~converged();
  }
  return active;
}

} // namespace dalembert::DALEMBERT_ISA
