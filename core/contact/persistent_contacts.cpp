#include "contact/persistent_contacts.hpp"
#include "contact/contact_motion.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double least_motion = 1e-5; // rad/s, m/s: the drift of slower bodies is below the tolerance

using Vec = Vec3<double>;

double size_of(const Vec &x) { return std::sqrt(dot(x, x)); }

bool moves(const double *motion) {
  return size_of(as_vec(motion)) > least_motion || size_of(as_vec(motion + 3)) > least_motion;
}

// velocity of a material point
Vec velocity_at(const Pose<double> &X, const double *motion, const Vec &x) {
  return as_vec(motion + 3) + cross(as_vec(motion), x - X.p);
}

bool is_free(const ContactSteps &c, std::int32_t block) { return block < 0 || c.free_blocks[std::size_t(block)].alone; }

void follow(const ContactSteps &c, ContactRow &row, const ScenePoint &p, const double *poses, const double *motions) {
  const auto &X = *reinterpret_cast<const Pose<double> *>(poses + 12 * p.places[0]),
             &Y = *reinterpret_cast<const Pose<double> *>(poses + 12 * p.places[1]);
  const FeatureContact<double> f =
      feature_contact<double>(feature_of(c.scene->feature(p.shapes[0], p.features[0])), X,
                              feature_of(c.scene->feature(p.shapes[1], p.features[1])), Y, p.start);
  const Vec u = velocity_at(Y, motions + 6 * p.places[1], f.second) - velocity_at(X, motions + 6 * p.places[0], f.first);
  const Vec &n = f.normal, &first = as_vec(row.axes), t = first - scale(dot(first, n), n); // turned with the normal
  row.follows = true;
  row.begin_gap = f.gap;
  row.begin_velocity[0] = dot(t, u) / size_of(t), row.begin_velocity[1] = dot(cross(n, t), u) / size_of(t);
  row.begin_velocity[2] = dot(n, u);
}

} // namespace

void follow_contacts(ContactSteps &c, const std::vector<ScenePoint> &points, const double *poses, const double *motions,
                     double h, double impact_speed, bool marked) {
  const std::size_t n = c.rows.size();
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && c.rows[end].island == c.rows[begin].island)
      ++end;
    if (!marked && end - begin > std::size_t(c.dense_points))
      continue;
    for (std::size_t k = begin; k < end; ++k) {
      ContactRow &row = c.rows[k];
      if (row.point < 0 || row.turning != Turning::none)
        continue;
      const ScenePoint &p = points[std::size_t(row.point)];
      if (!is_free(c, row.blocks[0]) || !is_free(c, row.blocks[1]))
        continue;
      if (marked ? !row.follows : !moves(motions + 6 * p.places[0]) && !moves(motions + 6 * p.places[1]))
        continue;
      follow(c, row, p, poses, motions);
      if (!marked && !row.known)
        row.follows = row.begin_gap <= h * (impact_speed + std::fabs(row.begin_velocity[2]));
    }
  }
}

bool may_follow(const ContactSteps &c) {
  return !c.memory.empty() && std::any_of(c.free_blocks.begin(), c.free_blocks.end(),
                                          [](const FreeBlock &block) { return block.alone; });
}

void set_drift(ContactRow &row, const double u[3], double h, double closed, double impact_speed) {
  if (!row.follows)
    return;
  for (int e = 0; e < 3; ++e)
    row.drift[e] = u[e] - row.begin_velocity[e];
  // Beyond a slip that is larger, friction acts along the slip in the middle.
  if (tangential_size(row.begin_velocity[0], row.begin_velocity[1]) > tangential_size(row.drift[0], row.drift[1]))
    row.drift[0] = row.drift[1] = 0.0;
  const double change = 0.5 * h * (row.begin_velocity[2] + 0.5 * row.drift[2]), size = size_of(as_vec(row.drift));
  const bool fits = std::fabs(row.gap - row.begin_gap - change) <= 0.25 * h * size + closed;
  if (fits && (row.known || u[2] >= -impact_speed))
    return;
  row.follows = false;
  std::fill_n(row.drift, 3, 0.0);
}

double end_gap(const ContactRow &row, double h, double u) {
  return row.gap + 0.5 * h * (u + 0.5 * row.drift[2]);
}

} // namespace dalembert::DALEMBERT_ISA
