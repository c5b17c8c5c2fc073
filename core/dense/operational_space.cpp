#include "dense/operational_space.hpp"
#include "dense/symmetric_eigen.hpp"
#include <algorithm>

namespace dalembert::dense {

constexpr double rounding_response = 1e-12; // of the terms of J Y J^T: a marker that loops hold in place

int operational_space(const OperationalSpaceSizes &sizes, const double *J, const double *Y, const double *moved,
                      double *L, double *inverse, double *bias, double *projector, std::vector<double> &work) {
  const std::ptrdiff_t nv = sizes.nv, k = sizes.k;
  work.resize(std::size_t(nv * k));
  double *response = work.data(); // Y J^T, nv x k
  for (std::ptrdiff_t i = 0; i < nv; ++i)
    for (std::ptrdiff_t j = 0; j < k; ++j) {
      double sum = 0.0;
      for (std::ptrdiff_t s = 0; s < nv; ++s)
        sum += Y[i * nv + s] * J[j * nv + s];
      response[i * k + j] = sum;
    }
  double A[36], V[36], factor[6], largest = 1e-300, terms = 0.0;
  for (std::ptrdiff_t i = 0; i < k; ++i)
    for (std::ptrdiff_t j = 0; j < k; ++j) {
      double sum = 0.0;
      for (std::ptrdiff_t s = 0; s < nv; ++s)
        sum += J[i * nv + s] * response[s * k + j];
      A[i * k + j] = sizes.scale[i] * sum * sizes.scale[j];
    }
  for (std::ptrdiff_t i = 0; i < k; ++i) {
    double sum = 0.0;
    for (std::ptrdiff_t s = 0; s < nv; ++s)
      for (std::ptrdiff_t r = 0; r < nv; ++r)
        sum += std::fabs(J[i * nv + s] * Y[s * nv + r] * J[i * nv + r]);
    terms = std::max(terms, sizes.scale[i] * sum * sizes.scale[i]);
  }
  for (std::ptrdiff_t i = 0; i < k; ++i)
    for (std::ptrdiff_t j = 0; j < i; ++j)
      A[i * k + j] = A[j * k + i] = 0.5 * (A[i * k + j] + A[j * k + i]);
  diagonalize(A, V, int(k));
  for (std::ptrdiff_t i = 0; i < k; ++i)
    largest = std::max(largest, A[i * (k + 1)]);
  const double least = std::max(sizes.tolerance * largest, rounding_response * terms);
  int rank = 0;
  for (std::ptrdiff_t i = 0; i < k; ++i) {
    const bool moves = A[i * (k + 1)] > least;
    factor[i] = moves ? 1.0 / A[i * (k + 1)] : 0.0;
    rank += moves;
  }
  for (std::ptrdiff_t i = 0; i < k; ++i)
    for (std::ptrdiff_t j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (std::ptrdiff_t s = 0; s < k; ++s)
        sum += V[i * k + s] * factor[s] * V[j * k + s];
      L[i * k + j] = L[j * k + i] = sizes.scale[i] * sum * sizes.scale[j];
    }
  for (std::ptrdiff_t i = 0; i < k; ++i) {
    double sum = 0.0;
    for (std::ptrdiff_t j = 0; j < k; ++j)
      sum += L[i * k + j] * moved[j];
    bias[i] = -sum;
  }
  for (std::ptrdiff_t i = 0; i < nv; ++i) {
    for (std::ptrdiff_t j = 0; j < k; ++j) {
      double sum = 0.0;
      for (std::ptrdiff_t s = 0; s < k; ++s)
        sum += response[i * k + s] * L[s * k + j];
      inverse[i * k + j] = sum;
    }
    for (std::ptrdiff_t j = 0; j < nv; ++j) {
      double sum = i == j ? 1.0 : 0.0;
      for (std::ptrdiff_t s = 0; s < k; ++s)
        sum -= inverse[i * k + s] * J[s * nv + j];
      projector[i * nv + j] = sum;
    }
  }
  return rank;
}

} // namespace dalembert::dense
