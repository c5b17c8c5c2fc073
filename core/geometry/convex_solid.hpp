// Convex solids of contact and clearance: a core grown by a radius.
//
// The core is the hull of points (a point for a sphere, a segment for a capsule, a polytope), a cylinder about z, the
// half space z <= 0, or, as the only one that is not convex, what lies below a height field. A polytope has faces with
// their loops of points, counterclockwise from outside, and edges between two faces each.
#pragma once

#include "geometry/feature_pairs.hpp"
#include "geometry/height_field.hpp"
#include <memory>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

using Frame = Pose<double>;

enum class CoreKind : std::int32_t { hull, cylinder, half_space, height_field };
// for which kernel; capsules include segments, boxes are hulls too
enum class SolidKind : std::int32_t { sphere, capsule, box, cylinder, hull, half_space, height_field };

struct ConvexSolid {
  struct Face {
    Point normal;
    int begin, count; // in `loops`
  };
  struct Edge {
    int from, to;    // points
    int left, right; // faces
    Point direction;
  };

  CoreKind kind = CoreKind::hull;
  SolidKind shape = SolidKind::hull;
  std::vector<Point> points;
  std::vector<Face> faces;
  std::vector<int> loops, loop_edges; // points around the faces, and the edges from each to the next
  std::vector<Edge> edges;
  std::vector<int> edges_at_begin, edges_at; // edges of each point
  std::vector<int> neighbours;               // the other ends of `edges_at`
  double half = 0.0, across = 0.0;           // half length and radius of a cylinder
  Point extent{};                            // half lengths of a box about `center` that contains the core
  std::shared_ptr<const HeightField> field;
  double radius = 0.0; // by which the core is grown
  Point center{};      // within the core
  double reach = 0.0;  // radius of a ball about `center` that contains the solid
  double inner = 0.0;  // least distance of `center` from a face, a cap or a side of the core

  bool is_polytope() const { return !faces.empty(); }
};

// Hull of points with given faces (loops of points one after the other, with their sizes; none for points, segments and
// flat hulls).
ConvexSolid make_hull(const std::vector<Point> &points, const std::vector<int> &loops, const std::vector<int> &sizes,
                      double radius);
// Box about its frame. Point k has the signs of the bits of k (x first). Face 2 i + (0 or 1) has the normal -+e_i. Edge
// 4 i + s + 2 t lies along e_i, with the signs s and t of the next two coordinates.
ConvexSolid make_box(const Point &extent, double radius);
ConvexSolid make_cylinder(double half, double across, double radius);
ConvexSolid make_half_space();
ConvexSolid make_height_field(const HeightField &field);

// Number of a feature of a solid, the same as long as the solid exists: points, edges and faces; of a cylinder the side
// (edge 0), caps (faces 0 at -z and 1 at z), rims (points 0 and 1) and fixed points of rims (points from 2 on); of a
// height field its nodes, edges and triangles (geometry/height_field.hpp).
enum class FeatureClass : std::int32_t { point, edge, face };
constexpr std::int32_t feature_number(FeatureClass kind, int index) { return (index << 2) | std::int32_t(kind); }
constexpr FeatureClass feature_class(std::int32_t number) { return FeatureClass(number & 3); }
constexpr int feature_index(std::int32_t number) { return number >> 2; }
constexpr int first_rim_point = 2, rim_points = 4; // fixed points of each rim

Feature make_feature(const ConvexSolid &solid, std::int32_t number);

// The point of the core that lies farthest in a direction, in the frame of the solid. index: of the point of a hull; the
// search of a hull with many points starts at the index that is given and follows edges.
Point support(const ConvexSolid &solid, const Point &direction, int &index);

// the face of a polytope whose normal is closest to a direction; its search starts near the point that lies farthest
int face_along(const ConvexSolid &solid, const Point &direction);

} // namespace dalembert::DALEMBERT_ISA
