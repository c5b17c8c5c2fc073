// Closure equations in natural coordinates: points, unit vectors, and angles and distances beside them.
//
// X holds all coordinates: unknown ones q, driven ones f(t), fixed ones, and three zeros last that stand in for a
// missing point. A row is a sum of terms in X and nothing else, so that a law of time is a coordinate like the others,
// one that is known:
//
//   Phi(X) = 0                                                                                                (1)
//   J v = b,  b = -Phi_f f'                                                                                   (2)
//   J a = c,  c = -Phi_f f'' - Phi_XX X' X'                                                                   (3)
//   J j = d,  d = -Phi_f f''' - 3 Phi_XX X' X'' - Phi_XXX X' X' X'                                            (4)
//
// Terms, with A = X[i] - X[j] and B = X[k] - X[l] vectors of two or three numbers, E = X[m] - X[n]:
//
//   constant k     linear k X[i]     dot k A.B     cross k (A x B)_c     triple k E.(A x B)     cosine, sine k cos X[i]
//
// Without angles and triple products, J is affine in X and (4) loses its last part. Garcia de Jalon and Bayo 1994,
// (3.5)-(3.8); erratum: (3.8) prints 2 Phi_q' q' for 2 Phi_q' q''. Cost: one pass over the terms each.
#pragma once

#include <cstdint>
#include <vector>

namespace dalembert::natural {

enum class Kind : std::int32_t { constant, linear, dot, cross, triple, cosine, sine };

struct Term {
  Kind kind;
  std::int32_t part;  // dot: how many numbers a vector has; cross: component
  std::int32_t at[6]; // places in X: i, j, k, l, m, n
  double factor;
};

// constant from here on
struct Rows {
  std::int32_t n = 0, driven = 0, count = 0;
  std::vector<double> base;         // X with fixed coordinates, three zeros last
  std::vector<std::int32_t> column; // of each place of X: k of unknown q[k], -2 - k of driven f[k], -1 of fixed ones
  std::vector<std::int32_t> places; // of q, then of f, in X (n + driven)
  std::vector<Term> terms;
  std::vector<std::int32_t> first; // terms of a row begin here (count + 1)

  std::int32_t size() const { return std::int32_t(base.size()); }
};

// X and its rates up to the second, to be filled from q, v, a and the driven coordinates; rates of fixed ones stay zero
struct Scratch {
  std::vector<double> X, V, A;
  explicit Scratch(const Rows &rows) : X(rows.base), V(rows.size()), A(rows.size()) {}
};

// known: (4, driven) values of driven coordinates, their rates, second and third rates
void residual(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *r);
// (count, n), row by row
void jacobian(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *J);
void velocity_terms(const Rows &rows, Scratch &scratch, const double *q, const double *known, double *b);
void acceleration_terms(const Rows &rows, Scratch &scratch, const double *q, const double *v, const double *known,
                        double *c);
void jerk_terms(const Rows &rows, Scratch &scratch, const double *q, const double *v, const double *a,
                const double *known, double *d);

} // namespace dalembert::natural
