// Everything that can be known of a state: motion, loads, elements, energies.
#pragma once

#include "elements/elements.hpp"
#include "system/load_feedback.hpp"

namespace dalembert::DALEMBERT_ISA {

// What is wanted; null where it is not. What costs nothing more is computed once for all of it.
struct Report {
  // motion
  double *a = nullptr;  // nv
  double *dx = nullptr; // nx
  // nv: all joint forces; of driven and locked degrees of freedom what holds them, elements included
  double *tau = nullptr;
  double *lambda = nullptr; // nc: of least norm
  // loads of connections on their second markers, world axes, joints of the trees first; those of least norm
  double *loads = nullptr;  // connections x 6
  double *unique = nullptr; // connections x 6: 1 where the motion determines them, else 0
  // closures
  double *cut_q = nullptr, *cut_v = nullptr, *cut_a = nullptr; // coordinates of cut joints, velocities, accelerations
  double *cut_effort = nullptr;                                // cut_nv: of elements there
  // nv + cut_nv: what holds locked and driven degrees of freedom, of the trees and of cut joints; else zero
  double *constraint_effort = nullptr;
  double *residual = nullptr, *residual_rate = nullptr; // nc: by how much rows and their rates are missed
  // elements
  ElementRecords elements;
  double *signals = nullptr;          // signal_count
  double *requested_effort = nullptr; // actuator_count: demands on actuators at bounded joints, all together
  double *switching_values =
      nullptr;               // switching_count: what decides between branches of laws, if some are held; else zero
  double *applied = nullptr; // nv: joint forces of the elements
  // energies (J) and powers (W): kinetic, potential, stored in elements, lost, brought by elements, put in from outside
  // by drives, joint forces, loads and rows that depend on time
  double *energy = nullptr; // energy_count
};
constexpr int energy_count = 6;

struct ReportWorkspace {
  MotionWorkspace motion;
  Dual *duals;                       // space for programs
  double *a, *cut, *tau, *applied;   // nv, cut_nv, nv, nv
  double *energies, *losses, *gains; // element_count
};

std::size_t lay_out(const ModelData &m, std::byte *base, ReportWorkspace &work);

// False if what is evaluated outside has failed.
bool report(const ModelData &m, const Conditions &c, ReportWorkspace &work, const SystemState<double> &s,
            const Report &out);

} // namespace dalembert::DALEMBERT_ISA
