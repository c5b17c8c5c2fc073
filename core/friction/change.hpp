// A change of modes that is being made: the state, what is known of the rows there, and operations that all parts of the
// change share.
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Change {
  const RunContext &i;
  FrictionRun &f;
  ChangeWorkspace &w;
  FrictionChange &log;
  const int n;        // rows
  const double slow;  // rest tolerances: slower rows are at rest
  const double least; // rad/s or m/s: slower rows are on their stops

  bool undecided = false;  // modes cannot be determined
  bool failed = false;     // a callback has failed
  bool not_finite = false; // modes cannot be determined because accelerations are not finite

  double *q() const { return i.work.q; }
  double *v() const { return i.work.v; }
  bool stopped() const { return undecided || failed; }
  double rest_tol(int k) const { return f.rows[std::size_t(k)].rest_tol * slow; }

  // Modes need these numbers.
  void require_finite(const double *x, int count) {
    not_finite = not_finite || !all_finite(x, count);
    undecided = undecided || not_finite;
  }

  template <class Test> bool any(Test &&test) const {
    for (int k = 0; k < n; ++k)
      if (test(k))
        return true;
    return false;
  }
};

inline double sign_of(double x) { return (x > 0.0) - (x < 0.0); }

// sizes of the workspace
void reserve_change(const ModelData &m, FrictionRun &f);

// coordinates, velocities and slip speeds of the rows; a slip speed of a vector group is a norm
void read_motion(Change &c);

// takes the locks of stuck rows away
void release_rows(Change &c);

// Writes signs or directions of slip (0: no friction) into the parameters. A group slips at a small speed along its
// direction at the onset.
void write_signs(FrictionRun &f, const std::vector<double> &signs);

// Signs of rows that move, and directions of groups, from their velocities; `still` rows have none. A group moves as a
// whole.
template <class Still> void find_signs(Change &c, std::vector<double> &signs, Still &&still) {
  ChangeWorkspace &w = c.w;
  for (int k = 0; k < c.n; ++k) {
    const std::size_t at = std::size_t(k);
    w.marks[at] = c.f.movable[at] && c.f.rows[at].mode >= 0 && !still(k);
    signs[at] = w.marks[at] && c.f.rows[at].group < 0 ? sign_of(w.u[at]) : 0.0;
  }
  for (const std::vector<std::int32_t> &group : c.f.groups) {
    bool moves = false;
    for (const std::int32_t k : group)
      moves = moves || w.marks[std::size_t(k)];
    const double speed = w.speed[std::size_t(group[0])];
    for (const std::int32_t k : group)
      if (moves && speed > 0.0)
        signs[std::size_t(k)] = w.u[std::size_t(k)] / speed, w.marks[std::size_t(k)] = 1;
  }
}

// limits of friction for the loads in f.signals
void set_limits(Change &c);

// Loads under the present conditions; false if friction and loads have no common solution there.
bool evaluate_loads(Change &c);

// Response of rows (friction/row_response.hpp), unless it is known.
void find_response(Change &c, const std::vector<unsigned char> &prescribed, const std::vector<int> &rows);

// Sets the velocities of rows to zero by impulses along an independent set of them; after `find_response`.
void stop_rows(Change &c, const std::vector<int> &chosen);

} // namespace dalembert::DALEMBERT_ISA
