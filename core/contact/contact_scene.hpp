// Shapes that may touch each other, and the search for their contact points.
//
// A shape is a convex solid fixed in a body. A contact (of the description) has shapes on a first and on a second side.
// Two shapes of different bodies belong to the last contact c that has one on either side, does not exclude the pair of
// bodies, and whose filter, if it has one, lets them meet: (type_i & affinity_j) | (type_j & affinity_i). There is no
// list of pairs: boxes around the shapes are sorted (geometry/broad_phase.hpp), so that the cost grows with the number
// of shapes and of those that are near each other.
//
// What follows is plain data, compiled once for all instruction sets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace dalembert {

struct ContactMaterial {
  double friction, static_friction; // of Coulomb's law
  double restitution;               // of Newton's law
  double rolling = 0.0, spin = 0.0; // m: moments across and along the normal, up to that times the normal force
};

// A point at which two shapes touch, or nearly do; the first shape is that of the first side.
struct ScenePoint {
  std::int32_t contact;              // number of the contact of the description
  std::int32_t material;             // number of its material
  std::int32_t shapes[2], places[2]; // shapes, and their bodies in the list of the model
  std::int32_t features[2];          // of either solid (geometry/convex_solid.hpp)
  double normal[3];                  // unit, from the first to the second, world axes
  double on_first[3], on_second[3];  // m, world axes
  double gap;                        // m
  double start[2];                   // angles near the points of rims, rad
};

// A feature of a solid (geometry/feature_pairs.hpp) in F of its body.
struct SceneFeature {
  std::int32_t kind;
  double c[3], d[3], e[3], out[3];
  double r, radius;
};

// What a scene consists of, as Python gives it.
struct SceneDescription {
  std::vector<std::int32_t> places;             // of each shape: its body in the list of the model
  std::vector<double> frames;                   // of each shape: 12 numbers, axes and origin in F of its body
  std::vector<const void *> solids;             // of each shape: its ConvexSolid, which the scene copies
  std::vector<std::int32_t> surfaces;           // of each shape: number of its surface
  std::vector<std::uint32_t> types, affinities; // of each shape: bits of the filter
  std::vector<unsigned char> filtered;          // of each contact: the filter applies
  std::vector<std::vector<std::int32_t>> sides; // of each contact: shapes of the first side, then of the second
  std::vector<std::int32_t> excluded;           // contact and two places that do not touch in it, 3 numbers each
  std::vector<std::int32_t> material_of;        // contacts x surfaces x surfaces
  std::vector<ContactMaterial> materials;
  int surface_count = 1;
  std::vector<double> thickness; // of each shape: a lower bound of its width, m; empty: infinite
};

class ContactScene {
public:
  explicit ContactScene(const SceneDescription &given);
  ~ContactScene();

  int shape_count() const;
  const std::vector<ContactMaterial> &materials() const;
  // radius of a ball about the centre of a shape that contains it, m; infinite of half spaces
  double reach(int shape) const;
  SceneFeature feature(int shape, std::int32_t number) const;
  int place(int shape) const; // its body in the list of the model
  // lower bound of the width of a shape, m
  double thickness(int shape) const;

private:
  friend class ContactSearch;
  struct Data;
  std::unique_ptr<Data> data;
};

// Search for contact points in one run; its memory, and the reference axes of pairs, are kept between calls.
class ContactSearch {
public:
  explicit ContactSearch(const ContactScene &scene);
  ~ContactSearch();

  // Finds the points of shapes that may meet within a time `h`, s, or are closer than `slack`, m.
  // frames: 12 numbers for each body of the model, axes and origin of F in the world; motions: 6 numbers for each body,
  // angular velocity and velocity of the origin of F, world axes.
  const std::vector<ScenePoint> &find(const double *frames, const double *motions, double h, double slack);

private:
  struct Data;
  std::unique_ptr<Data> data;
};

} // namespace dalembert
