#include "geometry/box_contacts.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double preference = 1e-9; // of the size: by so much edges have to separate more than faces
constexpr double exact = 1e-12;     // of the size: a gap this close to the separation is the distance
constexpr double parallel = feature_pairs::parallel * feature_pairs::parallel;
constexpr int next_axis[3] = {1, 2, 0}, last_axis[3] = {2, 0, 1};

// the edge of a box along an axis that lies farthest in a direction n of its frame
struct BoxEdge {
  std::int32_t number;
  Point middle, direction;
  double half;
  BoxEdge(std::int32_t number, const Point &middle, const Point &direction, double half)
      : number(number), middle(middle), direction(direction), half(half) {}
  BoxEdge(const Frame &F, const double (&axes)[3][3], const double (&h)[3], int i, const double (&n)[3]) {
    const int u = next_axis[i], v = last_axis[i];
    const double p = n[u] < 0.0 ? -h[u] : h[u], q = n[v] < 0.0 ? -h[v] : h[v];
    number = edge_number(4 * i + !(n[u] < 0.0) + 2 * !(n[v] < 0.0));
    direction = {axes[i][0], axes[i][1], axes[i][2]};
    middle = {F.p.x + p * axes[u][0] + q * axes[v][0], F.p.y + p * axes[u][1] + q * axes[v][1],
              F.p.z + p * axes[u][2] + q * axes[v][2]};
    half = h[i];
  }
};

struct Boxes {
  ContactCandidates &found;
  double a[3], b[3];       // half lengths
  double R[3][3], M[3][3]; // axes of the second in the frame of the first, and their magnitudes
  double t[3], back[3];    // from the first to the second, in the frames of the first and of the second
  double world[2][3][3];   // axes of either in the world: [box][axis]
  double radii, best = -1e300;
  int axis = -1;

  explicit Boxes(ContactCandidates &found)
      : found(found), a{found.A.extent.x, found.A.extent.y, found.A.extent.z},
        b{found.B.extent.x, found.B.extent.y, found.B.extent.z}, radii(found.A.radius + found.B.radius) {
    set_axes(found.X.R, world[0]);
    set_axes(found.Y.R, world[1]);
    const double d[3] = {found.Y.p.x - found.X.p.x, found.Y.p.y - found.X.p.y, found.Y.p.z - found.X.p.z};
    for (int i = 0; i < 3; ++i) {
      t[i] = back[i] = 0.0;
      for (int j = 0; j < 3; ++j) {
        const double *u = world[0][i], *v = world[1][j];
        R[i][j] = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        M[i][j] = std::fabs(R[i][j]);
        t[i] += u[j] * d[j], back[i] += world[1][i][j] * d[j];
      }
    }
  }
  static void set_axes(const Mat3<double> &Q, double (&out)[3][3]) {
    const double columns[3][3] = {{Q.xx, Q.yx, Q.zx}, {Q.xy, Q.yy, Q.zy}, {Q.xz, Q.yz, Q.zz}};
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k)
        out[i][k] = columns[i][k];
  }

  // ---- separations (1), (2)

  double face_of_first(int i) const {
    return std::fabs(t[i]) - a[i] - b[0] * M[i][0] - b[1] * M[i][1] - b[2] * M[i][2];
  }
  double face_of_second(int j) const {
    return std::fabs(back[j]) - b[j] - a[0] * M[0][j] - a[1] * M[1][j] - a[2] * M[2][j];
  }
  // before the division in (2)
  double edges(int i, int j) const {
    const int u = next_axis[i], v = last_axis[i], p = next_axis[j], q = last_axis[j];
    return std::fabs(t[v] * R[u][j] - t[u] * R[v][j]) - a[u] * M[v][j] - a[v] * M[u][j] - b[p] * M[i][q] -
           b[q] * M[i][p];
  }
  double separation(int k) const {
    if (k < 6)
      return k < 3 ? face_of_first(k) : face_of_second(k - 3);
    const int i = (k - 6) / 3, j = (k - 6) % 3;
    const double square = 1.0 - R[i][j] * R[i][j];
    return square > parallel ? edges(i, j) / std::sqrt(square) : -1e300;
  }
  // false: the boxes are farther apart than the margin
  bool search() {
    for (int k = 0; k < 6; ++k)
      if (const double s = k < 3 ? face_of_first(k) : face_of_second(k - 3); s > best) {
        best = s, axis = k;
        if (best - radii >= found.margin)
          return false;
      }
    const double handicap = preference * found.size;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double raw = edges(i, j); // s_ij has its sign, and is not nearer to zero
        const double square = 1.0 - R[i][j] * R[i][j];
        if ((raw < 0.0 && raw <= best + handicap) || square <= parallel)
          continue;
        if (const double s = raw / std::sqrt(square); s > best + handicap) {
          best = s, axis = 6 + 3 * i + j;
          if (best - radii >= found.margin)
            return false;
        }
      }
    return true;
  }

  BoxEdge edge_of_first(const double (&n)[3]) const { return {found.X, world[0], a, (axis - 6) / 3, n}; }
  BoxEdge edge_of_second(const double (&m)[3]) const { return {found.Y, world[1], b, (axis - 6) % 3, m}; }

  // normal of an axis from the first to the second, in the frame of the first
  void normal_of(int k, double (&n)[3]) const {
    double l[3] = {};
    if (k < 3) {
      l[k] = 1.0;
    } else if (k < 6) {
      for (int i = 0; i < 3; ++i)
        l[i] = R[i][k - 3];
    } else {
      const int i = (k - 6) / 3, j = (k - 6) % 3, u = next_axis[i], v = last_axis[i];
      const double factor = 1.0 / std::sqrt(1.0 - R[i][j] * R[i][j]);
      l[u] = -factor * R[v][j], l[v] = factor * R[u][j];
    }
    const double sense = l[0] * t[0] + l[1] * t[1] + l[2] * t[2] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 3; ++i)
      n[i] = sense * l[i];
  }
};

// the axis along which a direction is largest
int largest(const double (&n)[3]) {
  const double x = std::fabs(n[0]), y = std::fabs(n[1]), z = std::fabs(n[2]);
  return x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
}

// One box with its face that looks along a direction, in its own frame and in the world.
struct BoxFace {
  const Frame &F;
  const double (&axes)[3][3];
  const double (&half)[3];
  int i, u, v;  // axis of the face, and the next ones
  double sense; // +-1: the side
  Point normal; // outward, in the world
  double xu[4], xv[4];
  Point corner[4]; // around the face, in the world

  BoxFace(const Frame &F, const double (&axes)[3][3], const double (&half)[3], const double (&along)[3])
      : F(F), axes(axes), half(half), i(largest(along)), u(next_axis[i]), v(last_axis[i]),
        sense(along[i] < 0.0 ? -1.0 : 1.0), normal(scale(sense, column(i))) {
    const Point middle = F.p + scale(half[i], normal), p = scale(half[u], column(u)), q = scale(half[v], column(v));
    corner[0] = middle - p - q, corner[1] = middle + p - q, corner[2] = middle + p + q, corner[3] = middle - p + q;
  }
  Point column(int k) const { return {axes[k][0], axes[k][1], axes[k][2]}; }
  static constexpr int sign_u[4] = {0, 1, 1, 0}, sign_v[4] = {0, 0, 1, 1};

  std::int32_t face() const { return face_number(2 * i + (sense > 0.0)); }
  std::int32_t point(int k) const { return point_number((sense > 0.0) << i | sign_u[k] << u | sign_v[k] << v); }
  // Edges from corner k to the next, counterclockwise about +e_i: along u, v, u, v. The numbers of edges have the signs
  // of the next two axes: (v, i) for edges along u, (i, u) for edges along v.
  std::int32_t edge(int k) const {
    const int side = sense > 0.0;
    if (k == 0 || k == 2)
      return edge_number(4 * u + (k == 2) + 2 * side);
    return edge_number(4 * v + side + 2 * (k == 1));
  }
  BoxEdge whole_edge(int k) const {
    const int along = k & 1 ? v : u;
    return {edge(k), scale(0.5, corner[k] + corner[(k + 1) & 3]), column(along), half[along]};
  }
  // coordinates of the corners of another face in this one, seen along the normal of the contact
  void project(const BoxFace &other, const Point &n) {
    const Point cu = column(u), cv = column(v), along = scale(1.0 / dot(normal, n), n);
    for (int k = 0; k < 4; ++k) {
      const Point from = other.corner[k] - F.p, d = from - scale(dot(normal, from) - half[i], along);
      xu[k] = dot(cu, d), xv[k] = dot(cv, d);
    }
  }
};

class FacePair {
public:
  FacePair(Boxes &boxes, const double (&n)[3], const double (&m)[3])
      : found(boxes.found), first(found.X, boxes.world[0], boxes.a, n), second(found.Y, boxes.world[1], boxes.b, m),
        n(scale(n[0], first.column(0)) + scale(n[1], first.column(1)) + scale(n[2], first.column(2))) {
    first.project(second, this->n), second.project(first, this->n);
  }

  void add_corners() {
    if (dot(first.normal, n) > ContactCandidates::same_normal)
      corners_over(first, second, found.A.radius, found.B.radius, false);
    if (-dot(second.normal, n) > ContactCandidates::same_normal)
      corners_over(second, first, found.B.radius, found.A.radius, true);
  }

  // edges of the second face that cross those of the first, seen along the normal of the contact
  void add_crossings() {
    const double au = first.half[first.u], av = first.half[first.v];
    const double *xu = first.xu, *xv = first.xv;
    for (int k = 0; k < 4; ++k) {
      const int l = (k + 1) & 3;
      if ((xu[k] > au && xu[l] > au) || (xu[k] < -au && xu[l] < -au) || (xv[k] > av && xv[l] > av) ||
          (xv[k] < -av && xv[l] < -av))
        continue;
      const double du = xu[l] - xu[k], dv = xv[l] - xv[k];
      cross_side(k, 3, -au - xu[k], du, xv[k], dv, av);
      cross_side(k, 1, au - xu[k], du, xv[k], dv, av);
      cross_side(k, 0, -av - xv[k], dv, xu[k], du, au);
      cross_side(k, 2, av - xv[k], dv, xu[k], du, au);
    }
  }

  // the contact of an edge of either
  void add_edges(const BoxEdge &one, const BoxEdge &two) {
    const Point &c = one.middle, &d = one.direction, &g = two.direction;
    const double cosine = dot(d, g), determinant = 1.0 - cosine * cosine;
    if (determinant <= parallel)
      return;
    Point m = cross(d, g);
    m = scale((dot(m, n) < 0.0 ? -1.0 : 1.0) / std::sqrt(determinant), m);
    if (!(dot(m, n) > ContactCandidates::same_normal))
      return;
    const Point w = two.middle - c;
    const double core = dot(m, w), gap = core - found.A.radius - found.B.radius;
    if (!(gap < found.margin))
      return;
    const double p = dot(d, w), q = dot(g, w), s = (p - cosine * q) / determinant, e = s * cosine - q;
    if (std::fabs(s) > one.half + found.slack() || std::fabs(e) > two.half + found.slack())
      return;
    const Point on = c + scale(s, d) + scale(found.A.radius, m);
    found.put({one.number, two.number, m, on, on + scale(gap, m), gap, {0.0, 0.0}});
  }

private:
  ContactCandidates &found;
  BoxFace first, second;
  const Point n; // from the first to the second, in the world

  // corners of one face over the other; radius: of either
  void corners_over(const BoxFace &face, const BoxFace &other, double radius, double other_radius, bool exchanged) {
    const double au = face.half[face.u] + found.slack(), av = face.half[face.v] + found.slack();
    const double offset = face.half[face.i] + radius + other_radius;
    const Point cu = face.column(face.u), cv = face.column(face.v);
    for (int k = 0; k < 4; ++k) {
      const Point from = other.corner[k] - face.F.p; // whose foot on the face is along its own normal
      if (std::fabs(dot(cu, from)) > au || std::fabs(dot(cv, from)) > av)
        continue;
      const double gap = dot(face.normal, from) - offset;
      if (!(gap < found.margin))
        continue;
      const Point on_other = other.corner[k] - scale(other_radius, face.normal);
      const Point on_face = on_other - scale(gap, face.normal);
      if (exchanged)
        found.put({other.point(k), face.face(), -face.normal, on_other, on_face, gap, {0.0, 0.0}});
      else
        found.put({face.face(), other.point(k), face.normal, on_face, on_other, gap, {0.0, 0.0}});
    }
  }

  // Edge k of the second at a side of the first: reached after `by` with the rate `rate`, while the other coordinate
  // goes from x with the rate dx and has to stay within half.
  void cross_side(int k, int side, double by, double rate, double x, double dx, double half) {
    if ((by > 0.0) != (by < rate) || rate == 0.0) // not between the ends
      return;
    const double s = by / rate;
    if (!(s > 0.0 && s < 1.0) || std::fabs(x + s * dx) > half)
      return;
    add_edges(first.whole_edge(side), second.whole_edge(k));
  }
};

// the pair of features of the axis, where neither a corner lies over a face nor edges cross
void add_deepest(const Boxes &x, const double (&n)[3], const double (&m)[3]) {
  const auto corner = [](const double (&d)[3]) {
    return point_number(!(d[0] < 0.0) | !(d[1] < 0.0) << 1 | !(d[2] < 0.0) << 2);
  };
  const int i = x.axis, j = x.axis - 3;
  if (i < 3)
    x.found.add(face_number(2 * i + (n[i] > 0.0)), corner(m));
  else if (i < 6)
    x.found.add(corner(n), face_number(2 * j + (m[j] > 0.0)));
  else
    x.found.add(x.edge_of_first(n).number, x.edge_of_second(m).number);
}

} // namespace

BoxContacts add_box_contacts(ContactCandidates &found, std::int32_t reference) {
  Boxes x(found);
  if (!x.search())
    return {x.best - x.radii, x.axis, true};
  const double gap = x.best;
  if (reference >= 0 && reference < 15 && reference != x.axis &&
      x.separation(reference) >= x.best - axis_hysteresis * found.size)
    x.axis = reference;
  double n[3], m[3];
  x.normal_of(x.axis, n);
  for (int j = 0; j < 3; ++j)
    m[j] = -(x.R[0][j] * n[0] + x.R[1][j] * n[1] + x.R[2][j] * n[2]); // in the frame of the second
  FacePair faces(x, n, m);
  if (x.axis >= 6) {
    faces.add_edges(x.edge_of_first(n), x.edge_of_second(m));
  }
  faces.add_corners();
  faces.add_crossings();
  double least = 1e300;
  for (int k = 0; k < found.count(); ++k)
    least = std::min(least, found[k].gap);
  const bool known = gap <= 0.0 || least <= gap - x.radii + exact * found.size;
  if (known && !found.count())
    add_deepest(x, n, m);
  return {gap - x.radii, x.axis, known};
}

} // namespace dalembert::DALEMBERT_ISA
