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

struct Shape {
  ConvexSolid solid;
  Frame frame; // in F of its body
  std::int32_t place, surface;
  std::uint32_t type, affinity;

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
  std::vector<std::uint64_t> first, second; // shapes x words: bits of the contacts on whose sides a shape is
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
    d.shapes.push_back({*static_cast<const ConvexSolid *>(given.solids[k]), frame_of(given.frames.data() + 12 * k),
                        given.places[k], given.surfaces[k], given.types[k], given.affinities[k]});
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
const std::vector<ContactMaterial> &ContactScene::materials() const { return data->materials; }
double ContactScene::reach(int shape) const {
  const Shape &s = data->shapes[std::size_t(shape)];
  return s.is_half_space() ? std::numeric_limits<double>::infinity() : s.solid.reach;
}

double ContactScene::thickness(int shape) const {
  return data->thickness.empty() ? std::numeric_limits<double>::infinity() : data->thickness[std::size_t(shape)];
}

struct ContactSearch::Data {
  const ContactScene::Data &scene;
  BroadPhase broad;
  std::vector<Placed> placed;
  std::vector<AxisBox> boxes;
  std::unordered_map<std::uint64_t, std::int32_t> references; // separating axes of pairs of boxes
  std::vector<ScenePoint> points;

  explicit Data(const ContactScene::Data &scene) : scene(scene) {}

  void place(const double *frames, const double *motions, double h, double slack);
  void add_pair(int a, int b, double h, double slack);
};

void ContactSearch::Data::place(const double *frames, const double *motions, double h, double slack) {
  const std::size_t n = scene.shapes.size();
  placed.resize(n), boxes.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Shape &shape = scene.shapes[k];
    const Frame F = frame_of(frames + 12 * shape.place);
    const double *motion = motions + 6 * shape.place;
    const Point w{motion[0], motion[1], motion[2]}, u{motion[3], motion[4], motion[5]};
    Placed &at = placed[k];
    at.X = compose(F, shape.frame);
    at.center = at.X.p + mul(at.X.R, shape.solid.center);
    at.velocity = u + cross(w, at.center - F.p);
    AxisBox &box = boxes[k];
    if (shape.is_half_space()) {
      at.turning = 0.0;
      for (int c = 0; c < 3; ++c)
        box.lower[c] = -std::numeric_limits<double>::infinity(), box.upper[c] = -box.lower[c];
      continue;
    }
    at.turning = length_of(w) * shape.solid.reach;
    const double grown = h * at.turning + slack;
    Point half{shape.solid.reach, shape.solid.reach, shape.solid.reach};
    if (shape.solid.shape == SolidKind::box) {
      const Point &e = shape.solid.extent;
      const double r = shape.solid.radius;
      const auto &R = at.X.R;
      half = {std::abs(R.xx) * e.x + std::abs(R.xy) * e.y + std::abs(R.xz) * e.z + r,
              std::abs(R.yx) * e.x + std::abs(R.yy) * e.y + std::abs(R.yz) * e.z + r,
              std::abs(R.zx) * e.x + std::abs(R.zy) * e.y + std::abs(R.zz) * e.z + r};
    }
    const double c[3] = {at.center.x, at.center.y, at.center.z}, s[3] = {half.x, half.y, half.z},
                 v[3] = {h * at.velocity.x, h * at.velocity.y, h * at.velocity.z};
    for (int e = 0; e < 3; ++e) {
      // the way that lies ahead, and half of it behind: the middle of a step may be past another shape
      box.lower[e] = c[e] - s[e] - grown + std::min(v[e], -0.5 * v[e]);
      box.upper[e] = c[e] + s[e] + grown + std::max(v[e], -0.5 * v[e]);
    }
  }
}

void ContactSearch::Data::add_pair(int a, int b, double h, double slack) {
  bool exchanged = false;
  const int contact = scene.contact_of(a, b, exchanged);
  if (contact < 0)
    return;
  if (exchanged)
    std::swap(a, b);
  const Shape &A = scene.shapes[std::size_t(a)], &B = scene.shapes[std::size_t(b)];
  const Placed &X = placed[std::size_t(a)], &Y = placed[std::size_t(b)];
  const double margin = slack + h * (length_of(Y.velocity - X.velocity) + X.turning + Y.turning);
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
    write(c.normal, p.normal), write(c.on_first, p.on_first), write(c.on_second, p.on_second);
  }
}

ContactSearch::ContactSearch(const ContactScene &scene) : data(std::make_unique<Data>(*scene.data)) {}
ContactSearch::~ContactSearch() = default;

const std::vector<ScenePoint> &ContactSearch::find(const double *frames, const double *motions, double h,
                                                   double slack) {
  Data &d = *data;
  d.points.clear();
  d.place(frames, motions, h, slack);
  for (const auto &[a, b] : d.broad.overlaps(d.boxes.data(), int(d.boxes.size())))
    d.add_pair(a, b, h, slack);
  return d.points;
}

} // namespace dalembert
