#include "numerics/free_set.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {

namespace {
constexpr double dependent_pivot = 1e-10; // of the diagonal entry: a smaller pivot belongs to a dependent unknown
} // namespace

void FreeSet::reserve(int count) {
  members_.reserve(std::size_t(count));
  L.resize(std::size_t(count) * std::size_t(count));
  row.resize(std::size_t(count));
}

void FreeSet::reset(const double *matrix, int count) {
  A = matrix, n = count;
  members_.clear();
  if (row.size() < std::size_t(count))
    reserve(count);
}

bool FreeSet::contains(int k) const { return std::find(members_.begin(), members_.end(), k) != members_.end(); }

double FreeSet::pivot(int k) {
  double left = A[k * n + k];
  for (int i = 0; i < size(); ++i) {
    double sum = A[k * n + members_[std::size_t(i)]];
    for (int j = 0; j < i; ++j)
      sum -= L[std::size_t(i * n + j)] * row[std::size_t(j)];
    row[std::size_t(i)] = sum / L[std::size_t(i * n + i)];
    left -= row[std::size_t(i)] * row[std::size_t(i)];
  }
  return left;
}

bool FreeSet::depends(int k) { return !(pivot(k) > dependent_pivot * A[k * n + k]); }

bool FreeSet::append(int k) {
  if (depends(k))
    return false;
  members_.push_back(k);
  factor_row(size() - 1);
  return true;
}

void FreeSet::factor_row(int place) {
  const int k = members_[std::size_t(place)];
  double left = A[k * n + k];
  for (int i = 0; i < place; ++i) {
    double sum = A[k * n + members_[std::size_t(i)]];
    for (int j = 0; j < i; ++j)
      sum -= L[std::size_t(i * n + j)] * L[std::size_t(place * n + j)];
    L[std::size_t(place * n + i)] = sum / L[std::size_t(i * n + i)];
    left -= L[std::size_t(place * n + i)] * L[std::size_t(place * n + i)];
  }
  L[std::size_t(place * n + place)] = std::sqrt(left);
}

void FreeSet::remove(int place) {
  members_.erase(members_.begin() + place);
  for (int i = place; i < size(); ++i)
    factor_row(i);
}

void FreeSet::solve(double *b) const {
  for (int i = 0; i < size(); ++i) {
    for (int j = 0; j < i; ++j)
      b[i] -= L[std::size_t(i * n + j)] * b[j];
    b[i] /= L[std::size_t(i * n + i)];
  }
  for (int i = size() - 1; i >= 0; --i) {
    for (int j = i + 1; j < size(); ++j)
      b[i] -= L[std::size_t(j * n + i)] * b[j];
    b[i] /= L[std::size_t(i * n + i)];
  }
}

} // namespace dalembert
