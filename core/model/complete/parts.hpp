// Parts of `complete`: each checks rows of the tables and fills what follows from them.
#pragma once

#include "model/program_order.hpp"
#include "model/switching_plan.hpp"
#include "model/tables.hpp"
#include <stdexcept>

namespace dalembert {

inline void require(bool fits, const char *what) {
  if (!fits)
    throw std::invalid_argument(what);
}

inline std::int32_t count_of(std::size_t n) { return std::int32_t(n); }

inline bool within(std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value < high; }

template <class T> const T *pointer(const std::vector<T> &v) { return v.empty() ? nullptr : v.data(); }

// programs.cpp
ProgramTable complete_programs(ProgramRows &rows, std::int32_t inputs, const std::vector<TableData> &tables,
                               const std::vector<LawShape> &laws);
// programs `at` and `at + 1` give as many results as they should
bool programs_fit(const ProgramRows &rows, std::int32_t at, std::int32_t first, std::int32_t second);

// bodies.cpp
void complete_modal(Tables &t, ModelData &m);
void complete_bodies(Tables &t, ModelData &m);
void find_low_ranks(Tables &t, ModelData &m);
void complete_armature(Tables &t, ModelData &m);
void complete_lent(Tables &t, ModelData &m);

// constraints.cpp
void complete_curves(const Tables &t, ModelData &m);
void complete_loop_constraints(Tables &t, ModelData &m, std::vector<std::int64_t> &way_lengths);
void complete_rows(Tables &t, ModelData &m, const std::vector<std::int64_t> &way_lengths);

// elements.cpp
void complete_laws(Tables &t, ModelData &m);
void complete_tables(Tables &t, ModelData &m);
void complete_elements(Tables &t, ModelData &m);

// parameters.cpp
void complete_parameter_maps(Tables &t, ModelData &m);

} // namespace dalembert
