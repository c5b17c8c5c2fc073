// A step of rigid contact (moreau.hpp), or a part of it: motion without contacts, points, impulses, the end.
#pragma once

#include "contact/contact_blocks.hpp"
#include "contact/contact_impulses.hpp"
#include "steppers/methods/moreau_derivatives.hpp"
#include "steppers/stepper.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

struct ContactStep {
  static constexpr double closed_gap = 1e-9;     // of the length of the system: gaps below are closed
  static constexpr double slack_length = 1e-5;   // of it: points this close count as near
  static constexpr double plastic_speeds = 2.0;  // of g h: slower impacts are plastic

  const RunContext &i;
  const ModelData &m;
  ContactSteps &c;
  double *qm, *vm, *a, *dx;
  const std::vector<ScenePoint> *points = nullptr;
  bool begin_placed = false; // c.begin_poses and c.begin_motions are those of the part
  bool separated = false; // overlaps were removed at the end of the last part
  std::vector<unsigned char> &skip;
  double gravity, length;

  explicit ContactStep(const RunContext &i)
      : i(i), m(i.m), c(*i.run.contacts), qm(i.work.qs), vm(i.work.vs), a(i.work.a1), dx(i.work.dx1), skip(c.skip) {
    gravity = std::sqrt(m.gravity[0] * m.gravity[0] + m.gravity[1] * m.gravity[1] + m.gravity[2] * m.gravity[2]);
    if (!(gravity > 0.0))
      gravity = 1.0;
    length = m.length > 0.0 ? m.length : 1.0;
  }
  Workspace<double> &frames() { return i.work.motion.system.loops.ws; }
  double impact_speed() const { return plastic_speeds * gravity * i.run.fixed_step; }
  double closed() const { return closed_gap * length; }

  // Velocities in axes that turn, of free and spherical joints, from those after a turn by `part` of the angular velocity
  // of `rate` to those before it.
  void turn(const double *rate, double part, double *v) const;
  // accelerations that velocities alone cause: gyroscopic ones of the trees
  void gyroscopic(const double *q, const double *v, double *out);
  // the same of a free body: its axes turn
  void gyroscopic(const BodyData &b, FreeBlock &block, const double *v, double *out);
  // Velocities in the middle of the step, in axes there, without forces: for gyroscopic and other loads.
  void middle_velocities(double h);
  // frames and motions of the bodies at the begin
  void place_begin(bool placed);
  bool moves() const;
  // (1) without contacts over a time h: qm, and velocities before it (c.before) and after it (c.free), in the axes that
  // free and spherical joints have in the middle
  Outcome free_motion(double t, double h, bool follows = false);
  const double *poses() { return reinterpret_cast<const double *>(frames().X_W); }
  double look_ahead(double h) const { return slack_length * length + gravity * h * h; }
  void find_points(const double *q, double h);
  // normal velocity of a point, m/s
  double normal_velocity(const ScenePoint &p) const;
  // Solves for the impulses. With friction, Newton's restitution may add energy (Kane and Levinson 1985): then it is
  // lowered in the islands where it does, to the largest part that does not.
  void solve_without_gain(const ContactTiming &timing, double t);
  // marks of the islands, by their first block, whose impulses have done work on their way from c.before to c.free
  void find_gains(std::vector<unsigned char> &gains) const;
  // contacts of the step of length h that stands in qm and c.free
  void solve(double t, double h);
  double stop_speed() const;
  // (2): the state at the end of a step, from c.q, c.v and c.free
  Outcome finish(double t, double h, double *q1, double *v1, double *x1);
  // the same with overlaps, off the loops
  Outcome move_on_to(double t, double h, double *q1, double *v1, double *x1);
  // c.displacement of (6); false if there is none
  bool find_separation(double h);
  // (6); velocities in axes that turn are those of the same motion
  void separate(double h, double *q1, double *v1);
  // From c.q, c.v, c.x at t over a time h in which there is no fast impact, to q1, v1, x1. whole_step: length that logged
  // forces refer to; 0: nothing is logged or kept for the next step.
  Outcome take(double t, double h, double whole_step);
  // the same after free_motion and find_points
  Outcome take_found(double t, double h, double whole_step);
  void move_on();

  // ---- impacts within a step: moreau.cpp

  // An approach whose impact is located. With friction a plastic one too: over two steps it would be two impacts, which
  // have other directions of slip than one has, however short the steps are; unless it is central.
  bool is_fast(const ScenePoint &p, double normal_velocity) const;
  // Whether normal impulses turn neither body, tangential ones do not change the approach, and nothing else touches them;
  // the last is not asked for in piles.
  bool is_central(const ScenePoint &p) const;
  // the same of a stop, whose velocity counts from 10 g h over the length of the system on
  bool is_fast(const JointStop &stop, double velocity) const;
  // whether a shape may pass through another one in a time h: points of the middle would lie on its far side
  bool may_tunnel(double h) const;
  // Marks fast approaches, which are no contacts of a step: it ends where they meet. Returns the time of the first impact,
  // and infinity if there is none; h: length of the step whose middle the points belong to.
  double first_impact(double h);
  // Takes back the marks of points that a load presses on: they carried one before, and neither approached nor left when
  // the step began. Returns whether there are any.
  bool leave_pressed_points();
  // Moves on to the impact that is expected after a time `to_impact`, which is improved, and passes it.
  Outcome pass_impact(double t, double &to_impact, double longest, double whole_step);
  // from a state, of the first of the fast approaches; negative where they overlap already; 0: there is none
  double time_to_impact(const double *q, const double *v, double h);
  // (5) at c.q, c.v, of points that are closed, that meet within a small part of the step, or that were pressed before
  void collide(double t, double whole_step);
  Outcome step(double h);

  // ---- derivatives: moreau_derivatives.hpp

  // a part from c.q, c.v, c.x, whose impulses have been found
  void keep_part(double t, double h);
  void keep_end();
  // rows and points of a part at the configuration q
  void place_rows(const ContactPart &part, const double *q, std::vector<ScenePoint> &placed);
  // (7) at another begin; J, Y are those there
  Outcome evaluate(const ContactPart &part, double t, double h, const double *q, const double *v, const double *x,
                   PartSlopes &to, double *out);
  // the end of a part from to.middle, c.free and c.displacement
  Outcome end(const ContactPart &part, double t, double h, const PartSlopes &to, double *out);
  // responses of the rows, dense
  void fill_responses(PartSlopes &to);
  // derivatives of (7), by central differences
  Outcome differentiate(const ContactPart &part, PartSlopes &to);
  double difference_step(const ContactPart &part, std::size_t column, std::size_t nv, std::size_t states) const;
  // by velocities after the impulses, then by displacements
  Outcome differentiate_end(const ContactPart &part, PartSlopes &to);
};

} // namespace dalembert::DALEMBERT_ISA
