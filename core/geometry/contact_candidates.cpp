#include "geometry/contact_candidates.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

std::size_t at(int k) { return std::size_t(k); }

} // namespace

ContactPoint ContactCandidates::evaluate(std::int32_t first, std::int32_t second, double start_first,
                                         double start_second) const {
  const double start[2] = {start_first, start_second};
  const FeatureContact<double> c =
      feature_contact<double>(make_feature(A, first), X, make_feature(B, second), Y, start);
  return {first, second, c.normal, c.first, c.second, c.gap, {start_first, start_second}};
}

void ContactCandidates::add(std::int32_t first, std::int32_t second, double start_first, double start_second) {
  put(evaluate(first, second, start_first, start_second));
}

void ContactCandidates::add_along(const Point &n, std::int32_t first, std::int32_t second, double start_first,
                                  double start_second) {
  const ContactPoint c = evaluate(first, second, start_first, start_second);
  if (c.gap < margin && dot(c.normal, n) > same_normal && is_on(A, X, first, c.on_first) &&
      is_on(B, Y, second, c.on_second))
    put(c);
}

bool ContactCandidates::is_on(const ConvexSolid &S, const Frame &F, std::int32_t number, const Point &x) const {
  if (feature_class(number) != FeatureClass::edge)
    return true;
  const Point own = mul_t(F.R, x - F.p);
  if (S.kind == CoreKind::cylinder)
    return std::fabs(own.z) <= S.half + slack();
  const int k = feature_index(number);
  Point from, to;
  if (S.kind == CoreKind::height_field) {
    const HeightField::Edge edge = S.field->edge(k);
    from = edge.from, to = edge.to;
  } else {
    from = S.points[at(S.edges.empty() ? 0 : S.edges[at(k)].from)];
    to = S.points[at(S.edges.empty() ? 1 : S.edges[at(k)].to)];
  }
  const double length = std::sqrt(dot(to - from, to - from)), along = dot(own - from, to - from) / length;
  return along >= -slack() && along <= length + slack();
}

void ContactCandidates::replace_highest(const ContactPoint &c) {
  int highest = 0;
  for (int k = 1; k < used; ++k)
    if (list[k].gap > list[highest].gap)
      highest = k;
  if (c.gap < list[highest].gap)
    list[highest] = c;
}

// By how much a candidate adds to the points taken so far: distance from one, area of a triangle with two, area outside
// of a triangle of three, least distance from more.
double ContactCandidates::worth(const int *taken, int number, int k) const {
  const Point &x = list[k].on_second;
  const auto taken_point = [&](int j) { return list[taken[j]].on_second; };
  if (number == 2 || number == 3) {
    const Point &n = list[taken[0]].normal;
    double most = number == 2 ? 0.0 : -1e300;
    const auto area = [&](int i, int j) { return dot(n, cross(taken_point(j) - taken_point(i), x - taken_point(i))); };
    if (number == 2)
      return std::fabs(area(0, 1));
    const double sense =
        dot(n, cross(taken_point(1) - taken_point(0), taken_point(2) - taken_point(0))) < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 3; ++i)
      most = std::max(most, -sense * area(i, (i + 1) % 3));
    return most;
  }
  double least = 1e300;
  for (int j = 0; j < number; ++j)
    least = std::min(least, dot(x - taken_point(j), x - taken_point(j)));
  return least;
}

void ContactCandidates::keep(int most, Manifold &out) const {
  int order[capacity];
  for (int k = 0; k < used; ++k) { // by gap
    int j = k;
    for (; j > 0 && list[k].gap < list[order[j - 1]].gap; --j)
      order[j] = order[j - 1];
    order[j] = k;
  }
  most = std::min(most, max_contact_points);
  int number = used;
  if (used > most) {
    int taken[max_contact_points] = {order[0]};
    bool is_taken[capacity] = {};
    is_taken[order[0]] = true;
    for (number = 1; number < most; ++number) {
      int chosen = -1;
      double best = 0.0;
      for (int j = 0; j < used; ++j)
        if (!is_taken[order[j]])
          if (const double gain = worth(taken, number, order[j]); chosen < 0 || gain > best)
            chosen = order[j], best = gain;
      taken[number] = chosen;
      is_taken[chosen] = true;
    }
    number = 0;
    for (int k = 0; k < used; ++k)
      if (is_taken[order[k]])
        order[number++] = order[k];
  }
  out.count = number;
  for (int k = 0; k < number; ++k)
    out.points[k] = list[order[k]];
}

} // namespace dalembert::DALEMBERT_ISA
