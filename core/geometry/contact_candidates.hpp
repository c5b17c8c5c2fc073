// Candidates of contact points of a pair of solids, and the choice of those that are kept.
#pragma once

#include "geometry/contact_manifold.hpp"
#include <algorithm>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

constexpr std::int32_t point_number(int k) { return feature_number(FeatureClass::point, k); }
constexpr std::int32_t edge_number(int k) { return feature_number(FeatureClass::edge, k); }
constexpr std::int32_t face_number(int k) { return feature_number(FeatureClass::face, k); }

class ContactCandidates {
public:
  static constexpr int capacity = 64;
  static constexpr double same_point = 1e-9;  // of the size: closer points are one
  static constexpr double on_boundary = 1e-9; // of the size: points this far outside of a face count as inside
  static constexpr double same_normal = 0.9;  // cosine: pairs with normals farther away belong to other places
  static constexpr double deeper_length = 1e-6, deeper_part = 0.2; // of the size, of the depth: see `set_distance`

  const ConvexSolid &A, &B;
  const Frame &X, &Y;
  const double margin, size; // m; the smaller reach

  ContactCandidates(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y, double margin)
      : A(A), B(B), X(X), Y(Y), margin(margin), size(A.reach < B.reach ? A.reach : B.reach) {}

  int count() const { return used; }
  const ContactPoint &operator[](int k) const { return list[k]; }
  double slack() const { return on_boundary * size; }

  // Signed distance of the solids, which no point of them goes below: pairs of features that are deeper touch elsewhere
  // on their lines and rims.
  void set_distance(double gap) { least = gap - deeper_length * size - deeper_part * std::max(-gap, 0.0); }

  // a point closer than the margin; of points at one place, and of too many, the deepest are kept
  void put(const ContactPoint &c) {
    if (!(c.gap < margin && c.gap >= least))
      return;
    const double least = same_point * same_point * size * size;
    for (int k = 0; k < used; ++k) {
      const Point d = list[k].on_second - c.on_second;
      if (dot(d, d) < least) {
        if (c.gap < list[k].gap - slack())
          list[k] = c;
        return;
      }
    }
    if (used < capacity)
      list[used++] = c;
    else
      replace_highest(c);
  }
  // the contact of two features
  void add(std::int32_t first, std::int32_t second, double start_first = 0.0, double start_second = 0.0);
  // the same, if it lies on both features and its normal is close to n
  void add_along(const Point &n, std::int32_t first, std::int32_t second, double start_first = 0.0,
                 double start_second = 0.0);
  // the contact of two features, wherever it is
  ContactPoint evaluate(std::int32_t first, std::int32_t second, double start_first, double start_second) const;
  // whether a point of an unbounded feature lies between the ends of an edge or of a side
  bool is_on(const ConvexSolid &S, const Frame &F, std::int32_t number, const Point &x) const;
  // writes at most `most` points
  void keep(int most, Manifold &out) const;

private:
  int used = 0;
  double least = -std::numeric_limits<double>::infinity();
  ContactPoint list[capacity];

  void replace_highest(const ContactPoint &c);
  double worth(const int *taken, int number, int k) const;
};

} // namespace dalembert::DALEMBERT_ISA
