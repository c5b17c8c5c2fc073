// An ordered set of independent unknowns of a symmetric positive semidefinite matrix A, with the Cholesky factor of A
// over it. An unknown whose Schur complement vanishes depends on the members and cannot be one.
#pragma once

#include <vector>

namespace dalembert {

class FreeSet {
public:
  // space for n unknowns; members are dropped
  void reserve(int n);
  // the matrix, row by row, n x n; it is not copied, and members are dropped
  void reset(const double *A, int n);

  // Schur complement of A[k, k] after elimination of the members
  double pivot(int k);
  // whether an unknown depends on the members
  bool depends(int k);
  // Adds an unknown; false if it depends on the members.
  bool append(int k);
  void remove(int place);
  void clear() { members_.clear(); }

  const std::vector<int> &members() const { return members_; }
  int size() const { return int(members_.size()); }
  bool contains(int k) const;
  // A over the members, inverse, times b (one number per member), in place
  void solve(double *b) const;

private:
  void factor_row(int place);

  const double *A = nullptr;
  int n = 0;
  std::vector<int> members_;
  std::vector<double> L, row; // n x n, row by row; a candidate's row
};

} // namespace dalembert
