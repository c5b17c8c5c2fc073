#include "natural/rows.hpp"
#include "scalar/vec.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::natural {

namespace {

using Vector = DALEMBERT_ISA::Vec3<double>;

// X[i] - X[j], of two or three components
Vector difference(const double *X, std::int32_t i, std::int32_t j, int size) {
  return {X[i] - X[j], size > 1 ? X[i + 1] - X[j + 1] : 0.0, size > 2 ? X[i + 2] - X[j + 2] : 0.0};
}
Vector first(const Term &term, const double *X, int size) { return difference(X, term.at[0], term.at[1], size); }
Vector second(const Term &term, const double *X, int size) { return difference(X, term.at[2], term.at[3], size); }
Vector third(const Term &term, const double *X) { return difference(X, term.at[4], term.at[5], 3); }
void store(const Vector &a, double *to) { to[0] = a.x, to[1] = a.y, to[2] = a.z; }

// component c of a cross product has A[i] B[j] - A[j] B[i]; in the plane, c = 2
struct Pair {
  int i, j;
};
Pair pair_of(int component) { return {(component + 1) % 3, (component + 2) % 3}; }

// the bilinear form of a dot or cross term, with A from X and B from Y
double bilinear(const Term &term, const double *X, const double *Y) {
  if (term.kind == Kind::dot)
    return dot(first(term, X, term.part), second(term, Y, term.part));
  const auto [i, j] = pair_of(term.part);
  const std::int32_t *p = term.at;
  return (X[p[0] + i] - X[p[1] + i]) * (Y[p[2] + j] - Y[p[3] + j]) -
         (X[p[0] + j] - X[p[1] + j]) * (Y[p[2] + i] - Y[p[3] + i]);
}

// the trilinear form, with E from X, A from Y and B from Z
double trilinear(const Term &term, const double *X, const double *Y, const double *Z) {
  return dot(third(term, X), cross(first(term, Y, 3), second(term, Z, 3)));
}

void fill(std::vector<double> &X, const Rows &rows, const double *q, const double *known) {
  for (std::int32_t k = 0; k < rows.n; ++k)
    X[rows.places[k]] = q[k];
  for (std::int32_t k = 0; k < rows.driven; ++k)
    X[rows.places[rows.n + k]] = known[k];
}

// calls add(place, derivative) for every place of X that a term depends on
template <typename Add> void differentiate(const Term &term, const double *X, Add add) {
  const std::int32_t *p = term.at;
  const double k = term.factor;
  switch (term.kind) {
  case Kind::constant:
    return;
  case Kind::linear:
    return add(p[0], k);
  case Kind::dot: {
    double A[3], B[3];
    store(first(term, X, term.part), A), store(second(term, X, term.part), B);
    for (int c = 0; c < term.part; ++c) {
      add(p[0] + c, k * B[c]);
      add(p[1] + c, -k * B[c]);
      add(p[2] + c, k * A[c]);
      add(p[3] + c, -k * A[c]);
    }
    return;
  }
  case Kind::cross: {
    const auto [i, j] = pair_of(term.part);
    const double Ai = k * (X[p[0] + i] - X[p[1] + i]), Aj = k * (X[p[0] + j] - X[p[1] + j]);
    const double Bi = k * (X[p[2] + i] - X[p[3] + i]), Bj = k * (X[p[2] + j] - X[p[3] + j]);
    add(p[0] + i, Bj);
    add(p[1] + i, -Bj);
    add(p[0] + j, -Bi);
    add(p[1] + j, Bi);
    add(p[2] + j, Ai);
    add(p[3] + j, -Ai);
    add(p[2] + i, -Aj);
    add(p[3] + i, Aj);
    return;
  }
  case Kind::triple: {
    const Vector A = first(term, X, 3), B = second(term, X, 3), E = third(term, X);
    double by_A[3], by_B[3], by_E[3];
    store(cross(B, E), by_A), store(cross(E, A), by_B), store(cross(A, B), by_E);
    for (int c = 0; c < 3; ++c) {
      add(p[0] + c, k * by_A[c]);
      add(p[1] + c, -k * by_A[c]);
      add(p[2] + c, k * by_B[c]);
      add(p[3] + c, -k * by_B[c]);
      add(p[4] + c, k * by_E[c]);
      add(p[5] + c, -k * by_E[c]);
    }
    return;
  }
  case Kind::cosine:
    return add(p[0], -k * std::sin(X[p[0]]));
  case Kind::sine:
    return add(p[0], k * std::cos(X[p[0]]));
  }
}

double value(const Term &term, const double *X) {
  switch (term.kind) {
  case Kind::constant:
    return term.factor;
  case Kind::linear:
    return term.factor * X[term.at[0]];
  case Kind::dot:
  case Kind::cross:
    return term.factor * bilinear(term, X, X);
  case Kind::triple:
    return term.factor * trilinear(term, X, X, X);
  case Kind::cosine:
    return term.factor * std::cos(X[term.at[0]]);
  case Kind::sine:
    return term.factor * std::sin(X[term.at[0]]);
  }
  return 0.0;
}

// Phi_XX V V of a term
double curvature(const Term &term, const double *X, const double *V) {
  switch (term.kind) {
  case Kind::dot:
  case Kind::cross:
    return 2.0 * term.factor * bilinear(term, V, V);
  case Kind::triple:
    return 2.0 * term.factor * (trilinear(term, V, V, X) + trilinear(term, V, X, V) + trilinear(term, X, V, V));
  case Kind::cosine:
    return -term.factor * std::cos(X[term.at[0]]) * V[term.at[0]] * V[term.at[0]];
  case Kind::sine:
    return -term.factor * std::sin(X[term.at[0]]) * V[term.at[0]] * V[term.at[0]];
  default:
    return 0.0;
  }
}

// 3 Phi_XX V A + Phi_XXX V V V of a term
double twist(const Term &term, const double *X, const double *V, const double *A) {
  const std::int32_t p = term.at[0];
  switch (term.kind) {
  case Kind::dot:
  case Kind::cross:
    return 3.0 * term.factor * (bilinear(term, A, V) + bilinear(term, V, A));
  case Kind::triple:
    return 3.0 * term.factor *
               (trilinear(term, A, V, X) + trilinear(term, A, X, V) + trilinear(term, V, A, X) +
                trilinear(term, X, A, V) + trilinear(term, V, X, A) + trilinear(term, X, V, A)) +
           6.0 * term.factor * trilinear(term, V, V, V);
  case Kind::cosine:
    return term.factor * (std::sin(X[p]) * V[p] * V[p] * V[p] - 3.0 * std::cos(X[p]) * V[p] * A[p]);
  case Kind::sine:
    return -term.factor * (std::cos(X[p]) * V[p] * V[p] * V[p] + 3.0 * std::sin(X[p]) * V[p] * A[p]);
  default:
    return 0.0;
  }
}

// b -= Phi_f rates, for driven coordinates with these rates
void minus_driven(const Rows &rows, const double *X, const double *rates, double *b) {
  if (!rows.driven)
    return;
  for (std::int32_t row = 0; row < rows.count; ++row)
    for (std::int32_t k = rows.first[row]; k < rows.first[row + 1]; ++k)
      differentiate(rows.terms[k], X, [&](std::int32_t place, double derivative) {
        if (rows.column[place] < -1)
          b[row] -= derivative * rates[-2 - rows.column[place]];
      });
}

} // namespace

void residual(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *r) {
  fill(scratch.X, rows, q, known);
  for (std::int32_t row = 0; row < rows.count; ++row) {
    double sum = 0.0;
    for (std::int32_t k = rows.first[row]; k < rows.first[row + 1]; ++k)
      sum += value(rows.terms[k], scratch.X.data());
    r[row] = sum;
  }
}

void jacobian(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *J) {
  fill(scratch.X, rows, q, known);
  std::fill_n(J, std::size_t(rows.count) * rows.n, 0.0);
  for (std::int32_t row = 0; row < rows.count; ++row, J += rows.n)
    for (std::int32_t k = rows.first[row]; k < rows.first[row + 1]; ++k)
      differentiate(rows.terms[k], scratch.X.data(), [&](std::int32_t place, double derivative) {
        if (rows.column[place] >= 0)
          J[rows.column[place]] += derivative;
      });
}

void velocity_terms(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *b) {
  fill(scratch.X, rows, q, known);
  std::fill_n(b, rows.count, 0.0);
  minus_driven(rows, scratch.X.data(), known + rows.driven, b);
}

void acceleration_terms(const Rows &rows, Scratch &scratch, const double *q, const double *v, const double *known,
                        double *c) {
  fill(scratch.X, rows, q, known);
  fill(scratch.V, rows, v, known + rows.driven);
  for (std::int32_t row = 0; row < rows.count; ++row) {
    double sum = 0.0;
    for (std::int32_t k = rows.first[row]; k < rows.first[row + 1]; ++k)
      sum += curvature(rows.terms[k], scratch.X.data(), scratch.V.data());
    c[row] = -sum;
  }
  minus_driven(rows, scratch.X.data(), known + 2 * rows.driven, c);
}

void jerk_terms(const Rows &rows, Scratch &scratch, const double *q, const double *v, const double *a,
                const double *known, double *d) {
  fill(scratch.X, rows, q, known);
  fill(scratch.V, rows, v, known + rows.driven);
  fill(scratch.A, rows, a, known + 2 * rows.driven);
  for (std::int32_t row = 0; row < rows.count; ++row) {
    double sum = 0.0;
    for (std::int32_t k = rows.first[row]; k < rows.first[row + 1]; ++k)
      sum += twist(rows.terms[k], scratch.X.data(), scratch.V.data(), scratch.A.data());
    d[row] = -sum;
  }
  minus_driven(rows, scratch.X.data(), known + 3 * rows.driven, d);
}

} // namespace dalembert::natural
