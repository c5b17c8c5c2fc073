// Planar mechanisms that drives and dyads build up: positions, velocities and accelerations in closed form, a time in
// each lane.
//
// Links are bodies that turn and slide against each other in one plane. A driven joint places a link against one that
// is placed; a dyad, two links with three joints, is placed by two that are (Assur 1914; Mallik, Ghosh and Dittrich 1994,
// section 3.4). With A, B the places of the outer joints, J a quarter of a turn, x the cross product of the plane and
// sigma = +-1 the branch, which a motion keeps as long as its g does not vanish:
//
//     RRR   d = B - A    u = (|d|^2 + l1^2 - l2^2) / 2 |d|^2    r1 = u d + sigma sqrt(l1^2 / |d|^2 - u^2) J d
//           r2 = r1 - d    g = (r1 x r2) / l1 l2    w1 = r2 . d' / (r1 x r2)    w2 = r1 . d' / (r1 x r2)
//           dw1 = r2 . b / (r1 x r2)    dw2 = r1 . b / (r1 x r2)    b = d'' + w1^2 r1 - w2^2 r2                     (1)
//     RRP   C = K + s e, K fixed in the guide: s = -e . w + sigma sqrt(l1^2 - (e x w)^2), w = K - A
//           g = e . r1 / l1    r1 . (C' - A') = 0    r1 . (C'' - A'') = -l1^2 w1^2                                  (2)
//     RPR   d = B - A = m e + n J e, n constant: m = sigma sqrt(|d|^2 - n^2)    g = m
//           w = d' . J e / m    m' = d' . e + w n    dw = (d'' . J e - 2 w m' + n w^2) / m
//           m'' = d'' . e + n dw + m w^2                                                                            (3)
//     PRP   K1 + s1 e1 = K2 + s2 e2    g = e1 x e2                                                                  (4)
//     RPP   the same, K1 fixed in the first link, which turns with both guides                                      (5)
//
// Between two times the motion is that of one smooth branch if Hermite's formula holds ((3) of kinematics/sweep.hpp)
// and g is so far from zero that its rate at both ends does not bring it there. Where that is not certain, the general
// solver takes the step.
#pragma once

#include "model/model_data.hpp"
#include "system/conditions.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct PlaneVector { T x, y; };

struct PlaneJoint {
  int first, second; // links
  bool slides;
  int dof, coordinate; // of a tree joint; -1: of a cut joint
  double sense;        // +1: the coordinate is the turn of the second against the first; slides always are
  double start;        // the coordinate where the chain was built
  PlaneVector<double> at_first, at_second; // its place, on both links, where the chain was built
  PlaneVector<double> along;               // of slides, there
  bool used = false, driven = false;
};

enum class ChainStepKind : std::int32_t { turn, slide, rrr, rrp, rpr, prp, rpp };
// how one or two links are placed; of dyads the first joint is on the first link, the second between the two
struct ChainStep {
  ChainStepKind kind;
  int joints[3];
  int link, other;
  int drive;
  double branch;  // sigma
  double lengths[2]; // RRR: l1, l2; RRP: l1; RPR: n, and m where the chain was built
};

// of a link: cosine and sine of its turn, that turn, and place, since the chain was built; rates
struct LinkMotion {
  Pack c, s, angle, w, dw;
  PlaneVector<Pack> p, v, a;       // of its reference point
  PlaneVector<double> reference; // where that was
};
struct SlideMotion { Pack s, v, a; }; // a way, and its rates

constexpr int chain_rows = 64; // times of a block: a multiple of all numbers of lanes

struct DyadChain {
  bool complete = false; // whether all links are placed
  int links, joints, steps;
  std::int32_t *link_of; // nb + 1
  PlaneJoint *joint;
  ChainStep *step;
  LinkMotion *motion;  // of each link
  SlideMotion *coordinate; // of slides and driven joints
  // nv x (1 + chain_rows): coordinates, velocities, accelerations of a row and of the block after it; then of each step
  // g and its rate
  double *q, *v, *a, *g, *rate;
  double *turns;  // nv: whole turns, rad
  double *slack;  // chain_rows
  double *times; // 1 + chain_rows
};

std::size_t lay_out(const ModelData &m, std::byte *base, DyadChain &chain);

// Finds the chain at a closed configuration whose frames stand in ws.X_W; it may be incomplete. False if there is none
// at any configuration.
bool build_chain(const ModelData &m, const Conditions &c, const Workspace<double> &ws, const double *q,
                 DyadChain &chain);

// Begins at a row of the motion; matches: whether it is on the branch on which the chain was built.
void begin_rows(const ModelData &m, DyadChain &chain, double t, const double *q, const double *v, const double *a,
                bool &matches);

// Motion at `count` times, at most chain_rows, after the row that stands first in chain.q, v, a, times and g; returns
// how many are certain, which stand after it.
int follow_chain(const ModelData &m, DyadChain &chain, const double *times, int count);

// rows after the first, row by row
void read_rows(const ModelData &m, const DyadChain &chain, int count, double *q, double *v, double *a, double *slack);

// a row becomes the first
void keep_row(const ModelData &m, DyadChain &chain, int row);

} // namespace dalembert::DALEMBERT_ISA
