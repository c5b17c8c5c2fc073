// The runs of one SIMD register, each with steps of its own, by dop853 (steppers/methods/runge_kutta.hpp).
//
// Every lane has its own time and step, and takes the next run as soon as its own has ended. Results of a lane do not
// depend on its neighbours; each may have parameters of its own. A run leaves the batch, to be integrated alone, where
// stability bounds its steps, where its loops come near a singular position, and where one of its laws changes
// branches. Switching functions are bounded along every step (steppers/switching/monitor.hpp); where bounds do not show
// that none changes sign, the step is halved a few times.
//
// SimdRuns is a state machine that does not evaluate the equations of motion by itself: it requests rates at a state
// (`request_now`), the caller has them evaluated (`evaluate`), and `continue_run` proceeds to the next request. So many
// registers can advance side by side, and one call of a control receives the states of all of them.
//
//     entering -> probe -> stage 1 ... 11 -> end [-> closed] [-> dense 13 ... 15] -> stage 1 ... or entering, or
//     nothing
#pragma once

#include "model/parameter_maps.hpp"
#include "steppers/methods/tableaus.hpp"
#include "steppers/run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct SimdRunWorkspace {
  using P = Pack;
  SystemWorkspace<P> system;                           // its memory is shared by all registers
  P *q, *q1, *qs, *v, *v1, *vs, *x, *x1, *xs, *a, *dx; // a state, where a step leads, a stage
  P *z, *e, *K, *D;                                    // increments, error, rates of stages, dense output
  P *change;                                           // nv
  P *switching_values;                                 // switching_count: where the runs begin
  // monitor_inputs: what switching functions take at both ends of a step
  P *begin_y, *begin_rate, *end_y, *end_rate;
  SwitchingWorkspace switching; // of one lane
  double *sides;                // switching_count: none are held
  double *parameters;           // of the elements in each lane
  ParameterTables<P> own;       // of the model of each lane
  ParameterTables<double> one;  // and of one of them
};

// memory that packs share, and that of a pack
std::size_t lay_out_shared(const ModelData &m, std::byte *base, SimdRunWorkspace &work);
std::size_t lay_out_pack(const ModelData &m, std::byte *base, SimdRunWorkspace &work);

struct SimdRuns {
  using P = Pack;
  enum class RunRequest {
    nothing,  // all runs have come to their ends
    entering, // rates where runs begin, or after a discontinuity
    probe,    // rates a little later, for the first step
    stage,
    end,    // of a step
    closed, // the same once more, after it was put onto the loops
    dense,  // stages for states within a step
  };

  SimdRuns(const ModelData &model, const Run &asked, const SimdRunWorkspace &memory, double begin, double until,
           const Samples &samples, const RunQueue &feed);

  // to the first state at which rates are requested
  void begin() { next_step(); }
  // rates of velocities and of element states where they are requested; control: joint forces, nv, or null
  void evaluate(const P *control);
  void continue_run();
  // ends lanes whose control has failed, or all of them on request
  void leave_batch(unsigned lanes, Outcome outcome);

  RunRequest request_now = RunRequest::nothing;
  unsigned requested = 0; // lanes that need these rates
  unsigned asked = 0;     // those whose states a control has received
  P at_t;                 // the state where they are requested
  const P *at_q = nullptr, *at_v = nullptr, *at_x = nullptr;
  SimdRunInput runs[W];

private:
  void request(RunRequest what, unsigned lanes, const P &time, const P *q, const P *v, const P *x, P *a, P *dx);
  void next_step();
  void choose_lengths();
  unsigned load_run();
  void set_lane(int lane);
  void enter(unsigned lanes, unsigned fresh);
  void start_evaluated();
  void probe();
  void first_step_evaluated();
  void request_stage_rates(RunRequest what, unsigned lanes, int number);
  void request_end_rates();
  void accept_or_reject();
  void finish_step();
  void sample();
  void advance_state();
  bool stop_at_discontinuities();

  int n() const { return 2 * m.nv + m.nx; }
  bool on(unsigned lanes, int lane) const { return lanes >> lane & 1u; }
  // rates at the end of the step, in the place of a stage
  P *end() const { return work.K + std::ptrdiff_t(tableau.stages) * n(); }
  P clamped(const P &time) const;
  P packed(const double *numbers) const;
  void check_branches(unsigned lanes);
  void look(const P &time, const P *q, const P *v, const P *x, const P *a, const P *dx, const P &later, P *y, P *rate);
  void monitor();
  bool stays_inside(int lane);
  unsigned project_onto_constraints(const P &time, P *q, P *v);
  void check_pivots();
  void displace(const P &time, const P *z, P *q, P *v, P *x) const;
  P measure(const P *z, const P *q1, const P *v1, const P *x1) const;
  void judge();
  void count_stiffness();
  void store(int lane, double time, bool inside);
  void put(int lane, const P *q, const P *v, const P *x);
  bool finite(int lane) const;
  void end_lane(int lane, Outcome outcome);

  ModelData m;
  Run run;
  SimdRunWorkspace work;
  const Tableau &tableau = dop853_tableau;
  const double from, until;
  const Samples samples;
  const RunQueue feed;

  P *to_a = nullptr, *to_dx = nullptr; // where rates go
  int number = 0;                      // of the stage
  double t[W], step[W], h[W], t1[W], old_error[W], error[W];
  double trial[W], slope[W]; // of first steps
  bool rejected[W], ends[W], accepted[W];
  int unclear[W];         // steps in a row that bounds of switching functions did not let pass
  std::ptrdiff_t next[W]; // samples
  StiffnessCounter stiffness[W];
  double usual_min_pivot[W];
  SmoothInterval interval[W];
  StagnationMonitor stagnation[W];
  Counts counts[W];
  bool broken = false;              // there are breaks
  bool filled = false, dry = false; // there is a run in every lane; there are no more runs
  unsigned monitored = 0;           // lanes: `begin_y` is known
  // lanes: at work; that begin; with samples within the step; that have to go by themselves
  unsigned running = 0, fresh = 0, inner = 0, alone = 0;
};

} // namespace dalembert::DALEMBERT_ISA
