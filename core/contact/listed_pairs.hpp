// Broad phase of compliant contact in a run: the pairs of solids that can touch in a step are listed, and the run
// evaluates a model of these pairs alone.
//
// A pair that is not listed has no element, no states, no switching functions: it costs nothing in evaluations, in the
// arithmetic of states, in matrices of implicit steps and in norms. Its bristles are zero. The list is proven, not
// guessed. Let s_i be the largest speed of the center of ball i, around its solid, in all evaluations of a step of
// length h and of the step before it. In the step the center moves by less than
//
//     d_i = 1.5 h s_i                                                                                               (1)
//
// which is a bound of its path, not of the distance between the ends: a ball that moves out and back within the step,
// or turns many times, has a long path. With the gap g_ij of both balls where the step begins, a pair stays open if
//
//     d_i + d_j < g_ij                                                                                              (2)
//
// Otherwise it is listed, and the step is repeated. So what happens to a pair depends on its own motion alone, not on
// how many others there are. (2) needs not be looked at in every step: every ball has a budget, its share of the least
// gap that is left of its pairs, and pairs are looked at where a path exceeds it. Pairs of a half space that moves are
// always listed. A pair leaves the list while its bristles are zero and its gap exceeds 4 (d_i + d_j).
//
// Contacts are the last elements of a model, their states the last states, their switching functions the last of these:
// what else there is stands where it stood. Lists stand in the memory of the run, before everything else.
#pragma once

#include "steppers/run.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

class ListedPairs {
public:
  // m: of all pairs; memory: of the run, or null
  ListedPairs(const ModelData &m, std::byte *memory);
  ListedPairs(const ListedPairs &) = delete;

  static std::size_t bytes(const ModelData &m);

  // whether some pairs are left out; else `model` is the model itself
  bool acts() const { return header && header->acts == yes; }
  const ModelData &model() const { return acts() ? view : all; }

  // Whether a run can leave pairs out; it begins with those whose bristles x are deflected.
  void begin(const Run &run, bool implicit, const double *x);

  // element states of the model of listed pairs, from those of all pairs; and back, in one of some arrays
  enum class Use { state, rates, record, callback, count };
  void compress(const double *x, double *listed_x) const;
  const double *expand(const double *listed_x, Use use) const;
  // sides of switching functions, which are not held of contacts
  const double *expand_sides(const double *sides) const;
  const double *tolerances(const double *atol) const;
  int whole_nx() const { return all.nx; }
  int function_count() const { return all.switching_count; }
  // the number of a switching function among all, from 1; 0: none
  std::int32_t function_of_all(std::int32_t number) const;

  // bodies have been placed and move, in the world
  void note_speeds(const Workspace<double> &ws);

  // before a step is tried; after it was rejected; after it was made
  void begin_attempt();
  void discard_attempt();
  void step_made();

  // (2) for the step just tried; q, v: where it begins. False: pairs join the list.
  bool stays_open(Workspace<double> &ws, double h, const double *q, const double *v);
  // pairs whose balls overlap at a state join the list
  bool all_touching_listed(Workspace<double> &ws, const double *q, const double *v);
  // now and then after a step: pairs that are far away leave the list; true if some did
  bool drop_far(Workspace<double> &ws, const double *q, const double *v, const double *x);
  void list_all();

  // the model of these pairs
  void update();

private:
  static constexpr std::uint64_t yes = 0x9d2c5680efc60000; // no number of memory that nothing was written to
  struct Header {
    std::uint64_t acts;
    std::int64_t steps;
    std::int32_t made; // whether the step tried last was made
    std::int32_t balls, listed;
  };
  struct Ball {
    std::int32_t body;
    double center[3];
  };

  const ModelData &all;
  ModelData view;
  Header *header = nullptr;
  std::int32_t first_element, first_state, first_function, first_monitored, first_input;
  unsigned char *listed, *wanted, *late; // of each pair: in the model, after `update`; of each ball
  std::int32_t *ball_a, *ball_b; // of each pair; -1: at rest on the ground
  Ball *balls;
  // of each ball: largest speed since the step began, and before; path in the step, and since its pairs were looked at,
  // and how long that may become
  double *speed, *before, *path, *moved, *budget;
  ElementData *elements;
  SwitchingFunctionData *functions;
  MonitoredElementData *monitored;
  double *atol, *sides, *expanded[int(Use::count)];

  std::size_t lay_out(std::byte *memory);
  const ElementData &element_of(int pair) const { return all.elements[first_element + pair]; }
  bool is_pinned(int pair) const;
  bool can_list() const;
  void find_balls();
  void point_at_view();
  void share(int pair, double gap);
};

} // namespace dalembert::DALEMBERT_ISA
