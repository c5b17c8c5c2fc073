#include "contact/contact_scene.hpp"
#include "geometry/broad_phase.hpp"
#include "geometry/contact_manifold.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace dalembert {

using namespace DALEMBERT_ISA;

namespace {

constexpr double kept_reach = 0.1; // of the reach of a shape: how far it may move until pairs are searched again
constexpr double kept_steps = 8.0; // steps at its velocity: the same

struct Shape {
  ConvexSolid solid;
  Frame frame; // in F of its body
  std::int32_t place, surface;
  std::uint32_t type, affinity;
  Point center; // of the solid, in F of its body

  bool is_half_space() const { return solid.kind == CoreKind::half_space; }
};

// where a shape is and how it moves
struct Placed {
  Frame X;
  Point center, velocity; // of `ConvexSolid::center`, world axes
  double turning;         // largest velocity of a point against the centre, m/s
};

Frame frame_of(const double *x) {
  return {{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}, {x[9], x[10], x[11]}};
}

double length_of(const Point &x) { return std::sqrt(dot(x, x)); }

void write(const Point &x, double *out) { out[0] = x.x, out[1] = x.y, out[2] = x.z; }

std::uint64_t key_of(std::int32_t first, std::int32_t second) {
  return (std::uint64_t(std::uint32_t(first)) << 32) | std::uint32_t(second);
}

} // namespace

struct ContactScene::Data {
  std::vector<Shape> shapes;
  std::vector<ContactMaterial> materials;
  std::vector<std::int32_t> material_of; // contacts x surfaces x surfaces
  int surfaces = 1, contacts = 0, words = 0;
  std::vector<std::uint64_t> first, second;         // shapes x words: bits of the contacts on whose sides a shape is
  std::vector<std::vector<std::uint64_t>> excluded; // of each contact: keys of pairs of places, in order
  std::vector<unsigned char> filtered;
  std::vector<double> thickness;

  // The contact that a pair of shapes belongs to, and whether the shape of its first side is b; -1: none.
  int contact_of(int a, int b, bool &exchanged) const {
    const Shape &A = shapes[std::size_t(a)], &B = shapes[std::size_t(b)];
    if (A.place == B.place)
      return -1;
    const bool meet = (A.type & B.affinity) | (B.type & A.affinity);
    const std::uint64_t key = key_of(std::min(A.place, B.place), std::max(A.place, B.place));
    for (int w = words - 1; w >= 0; --w) {
      const std::size_t i = std::size_t(a * words + w), j = std::size_t(b * words + w);
      const std::uint64_t as_given = first[i] & second[j];
      for (std::uint64_t any = as_given | (second[i] & first[j]); any;) {
        const int bit = 63 - __builtin_clzll(any), contact = 64 * w + bit;
        any &= ~(std::uint64_t(1) << bit);
        const std::vector<std::uint64_t> &out = excluded[std::size_t(contact)];
        if ((filtered[std::size_t(contact)] && !meet) || std::binary_search(out.begin(), out.end(), key))
          continue;
        exchanged = !((as_given >> bit) & 1u);
        return contact;
      }
    }
    return -1;
  }
  std::int32_t material(int contact, const Shape &a, const Shape &b) const {
    return material_of[std::size_t((contact * surfaces + a.surface) * surfaces + b.surface)];
  }
};

ContactScene::ContactScene(const SceneDescription &given) : data(std::make_unique<Data>()) {
  Data &d = *data;
  d.materials = given.materials, d.material_of = given.material_of, d.surfaces = given.surface_count;
  d.contacts = int(given.sides.size() / 2), d.words = (d.contacts + 63) / 64;
  const std::size_t n = given.places.size(), words = std::size_t(d.words);
  for (std::size_t k = 0; k < n; ++k)
    d.shapes.push_back({*static_cast<const ConvexSolid *>(given.solids[k]),
                        frame_of(given.frames.data() + 12 * k),
                        given.places[k],
                        given.surfaces[k],
                        given.types[k],
                        given.affinities[k],
                        {}});
  for (Shape &shape : d.shapes)
    shape.center = shape.frame.p + mul(shape.frame.R, shape.solid.center);
  d.first.assign(n * words, 0), d.second.assign(n * words, 0);
  for (std::size_t side = 0; side < given.sides.size(); ++side)
    for (const std::int32_t k : given.sides[side])
      (side % 2 ? d.second : d.first)[std::size_t(k) * words + side / 128] |= std::uint64_t(1) << (side / 2 % 64);
  d.filtered = given.filtered, d.thickness = given.thickness;
  d.excluded.resize(std::size_t(d.contacts));
  for (std::size_t k = 0; k + 2 < given.excluded.size(); k += 3) {
    const auto [least, most] = std::minmax(given.excluded[k + 1], given.excluded[k + 2]);
    d.excluded[std::size_t(given.excluded[k])].push_back(key_of(least, most));
  }
  for (std::vector<std::uint64_t> &keys : d.excluded)
    std::sort(keys.begin(), keys.end());
}

ContactScene::~ContactScene() = default;
int ContactScene::shape_count() const { return int(data->shapes.size()); }
int ContactScene::place(int shape) const { return data->shapes[std::size_t(shape)].place; }
const std::vector<ContactMaterial> &ContactScene::materials() const { return data->materials; }
double ContactScene::reach(int shape) const {
  const Shape &s = data->shapes[std::size_t(shape)];
  return s.is_half_space() ? std::numeric_limits<double>::infinity() : s.solid.reach;
}
SceneFeature ContactScene::feature(int shape, std::int32_t number) const {
  const Shape &s = data->shapes[std::size_t(shape)];
  const Feature f = make_feature(s.solid, number);
  SceneFeature out;
  out.kind = std::int32_t(f.kind), out.r = f.r, out.radius = f.radius;
  write(mul(s.frame.R, f.c) + s.frame.p, out.c), write(mul(s.frame.R, f.d), out.d);
  write(mul(s.frame.R, f.e), out.e), write(mul(s.frame.R, f.out), out.out);
  return out;
}

double ContactScene::thickness(int shape) const {
  return data->thickness.empty() ? std::numeric_limits<double>::infinity() : data->thickness[std::size_t(shape)];
}

// Pairs that may meet are kept as long as every shape stays in a box around the ball that contains it, grown by a part
// of its size and by what it moves in some steps. Boxes around the shapes themselves then decide at every call, so that
// points do not depend on when the pairs were found.
struct ContactSearch::Data {
  struct Candidate {
    std::int32_t a, b, contact; // the first shape is that of the first side
  };
  const ContactScene::Data &scene;
  BroadPhase broad;
  std::vector<Placed> placed;
  std::vector<AxisBox> boxes, kept;
  std::vector<unsigned char> is_placed;
  std::vector<Candidate> candidates;
  std::unordered_map<std::uint64_t, std::int32_t> references; // separating axes of pairs of boxes
  std::vector<ScenePoint> points;

  explicit Data(const ContactScene::Data &scene) : scene(scene) {}

  bool move(const double *frames, const double *motions, double h, double slack);
  void find_candidates(double h, double slack);
  bool is_above(std::int32_t plane, const AxisBox &box) const;
  void place(std::int32_t k, const double *frames, double h, double slack);
  void add_pair(const Candidate &pair, double h, double slack);
};

// Moves the centres of all shapes; false: one has left its box.
bool ContactSearch::Data::move(const double *frames, const double *motions, double h, double slack) {
  const std::size_t n = scene.shapes.size();
  bool inside = placed.size() == n;
  placed.resize(n), boxes.resize(n), kept.resize(n);
  is_placed.assign(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    const Shape &shape = scene.shapes[k];
    const double *F = frames + 12 * shape.place, *motion = motions + 6 * shape.place;
    const Point w{motion[0], motion[1], motion[2]}, u{motion[3], motion[4], motion[5]}, &c = shape.center;
    const Point arm{F[0] * c.x + F[1] * c.y + F[2] * c.z, F[3] * c.x + F[4] * c.y + F[5] * c.z,
                    F[6] * c.x + F[7] * c.y + F[8] * c.z};
    Placed &at = placed[k];
    at.center = arm + Point{F[9], F[10], F[11]};
    at.velocity = u + cross(w, arm);
    at.turning = shape.is_half_space() ? 0.0 : length_of(w) * shape.solid.reach;
    if (!inside || shape.is_half_space())
      continue;
    const double out = shape.solid.reach + h * at.turning + slack;
    const double x[3] = {at.center.x, at.center.y, at.center.z};
    const double v[3] = {h * at.velocity.x, h * at.velocity.y, h * at.velocity.z};
    for (int e = 0; e < 3; ++e)
      inside = inside && x[e] - out + std::min(v[e], -0.5 * v[e]) >= kept[k].lower[e] &&
               x[e] + out + std::max(v[e], -0.5 * v[e]) <= kept[k].upper[e];
  }
  return inside;
}

void ContactSearch::Data::find_candidates(double h, double slack) {
  for (std::size_t k = 0; k < kept.size(); ++k) {
    const Shape &shape = scene.shapes[k];
    const Placed &at = placed[k];
    const double reach = shape.is_half_space() ? std::numeric_limits<double>::infinity() : shape.solid.reach;
    const double speed = length_of(at.velocity) + at.turning;
    const double out = reach * (1.0 + kept_reach) + slack + kept_steps * h * speed;
    const double x[3] = {at.center.x, at.center.y, at.center.z};
    for (int e = 0; e < 3; ++e)
      kept[k].lower[e] = x[e] - out, kept[k].upper[e] = x[e] + out;
  }
  candidates.clear();
  for (const auto &[a, b] : broad.overlaps(kept.data(), int(kept.size()))) {
    bool exchanged = false;
    const int contact = scene.contact_of(a, b, exchanged);
    if (contact < 0 || is_above(a, kept[std::size_t(b)]) || is_above(b, kept[std::size_t(a)]))
      continue;
    candidates.push_back(exchanged ? Candidate{b, a, contact} : Candidate{a, b, contact});
  }
}

// whether a shape is a half space of ground, and a box lies above it
bool ContactSearch::Data::is_above(std::int32_t plane, const AxisBox &box) const {
  const Shape &shape = scene.shapes[std::size_t(plane)];
  if (!shape.is_half_space() || shape.place != 0)
    return false;
  const auto &R = shape.frame.R;
  const double n[3] = {R.xz, R.yz, R.zz}, p[3] = {shape.frame.p.x, shape.frame.p.y, shape.frame.p.z};
  double height = 0.0;
  for (int e = 0; e < 3; ++e)
    height += n[e] * ((n[e] > 0.0 ? box.lower[e] : box.upper[e]) - p[e]);
  return height > 0.0;
}

// the frame of a shape, and the box around it
void ContactSearch::Data::place(std::int32_t k, const double *frames, double h, double slack) {
  if (is_placed[std::size_t(k)])
    return;
  is_placed[std::size_t(k)] = 1;
  const Shape &shape = scene.shapes[std::size_t(k)];
  Placed &at = placed[std::size_t(k)];
  at.X = compose(frame_of(frames + 12 * shape.place), shape.frame);
  AxisBox &box = boxes[std::size_t(k)];
  if (shape.is_half_space()) {
    for (int c = 0; c < 3; ++c)
      box.lower[c] = -std::numeric_limits<double>::infinity(), box.upper[c] = -box.lower[c];
    return;
  }
  const double grown = h * at.turning + slack;
  const Point &e = shape.solid.extent;
  const double r = shape.solid.radius, reach = shape.solid.reach;
  const auto &R = at.X.R;
  const Point half{std::min(std::abs(R.xx) * e.x + std::abs(R.xy) * e.y + std::abs(R.xz) * e.z + r, reach),
                   std::min(std::abs(R.yx) * e.x + std::abs(R.yy) * e.y + std::abs(R.yz) * e.z + r, reach),
                   std::min(std::abs(R.zx) * e.x + std::abs(R.zy) * e.y + std::abs(R.zz) * e.z + r, reach)};
  const double c[3] = {at.center.x, at.center.y, at.center.z}, s[3] = {half.x, half.y, half.z},
               v[3] = {h * at.velocity.x, h * at.velocity.y, h * at.velocity.z};
  for (int i = 0; i < 3; ++i) {
    // the way that lies ahead, and half of it behind: the middle of a step may be past another shape
    box.lower[i] = c[i] - s[i] - grown + std::min(v[i], -0.5 * v[i]);
    box.upper[i] = c[i] + s[i] + grown + std::max(v[i], -0.5 * v[i]);
  }
}

namespace {

// whether a shape is a half space, and the ball around another is farther from it than the margin
bool is_beyond(const Shape &plane, const Placed &at_plane, const Placed &other, double reach, double margin) {
  return plane.is_half_space() &&
         dot(Point{at_plane.X.R.xz, at_plane.X.R.yz, at_plane.X.R.zz}, other.center - at_plane.X.p) > reach + margin;
}

} // namespace

void ContactSearch::Data::add_pair(const Candidate &pair, double h, double slack) {
  const auto [a, b, contact] = pair;
  const Shape &A = scene.shapes[std::size_t(a)], &B = scene.shapes[std::size_t(b)];
  const Placed &X = placed[std::size_t(a)], &Y = placed[std::size_t(b)];
  const double margin = slack + h * (length_of(Y.velocity - X.velocity) + X.turning + Y.turning);
  if (is_beyond(A, X, Y, B.solid.reach, margin) || is_beyond(B, Y, X, A.solid.reach, margin))
    return;
  std::int32_t reference = no_reference;
  const bool boxes_meet = A.solid.shape == SolidKind::box && B.solid.shape == SolidKind::box;
  if (boxes_meet)
    if (const auto known = references.find(key_of(a, b)); known != references.end())
      reference = known->second;
  const Manifold found = find_contacts(A.solid, X.X, B.solid, Y.X, margin, reference);
  if (boxes_meet)
    references[key_of(a, b)] = found.reference;
  for (int k = 0; k < found.count; ++k) {
    const ContactPoint &c = found.points[k];
    ScenePoint &p = points.emplace_back();
    p.contact = contact, p.material = scene.material(contact, A, B);
    p.shapes[0] = a, p.shapes[1] = b, p.places[0] = A.place, p.places[1] = B.place;
    p.features[0] = c.first, p.features[1] = c.second, p.gap = c.gap;
    std::copy_n(c.start, 2, p.start);
    write(c.normal, p.normal), write(c.on_first, p.on_first), write(c.on_second, p.on_second);
  }
}

ContactSearch::ContactSearch(const ContactScene &scene) : data(std::make_unique<Data>(*scene.data)) {}
ContactSearch::~ContactSearch() = default;

const std::vector<ScenePoint> &ContactSearch::find(const double *frames, const double *motions, double h,
                                                   double slack) {
  Data &d = *data;
  d.points.clear();
  if (!d.move(frames, motions, h, slack))
    d.find_candidates(h, slack);
  for (const Data::Candidate &pair : d.candidates) {
    d.place(pair.a, frames, h, slack), d.place(pair.b, frames, h, slack);
    if (overlap(d.boxes[std::size_t(pair.a)], d.boxes[std::size_t(pair.b)]))
      d.add_pair(pair, h, slack);
  }
  return d.points;
}

} // namespace dalembert
