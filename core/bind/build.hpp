// From the flat arrays that Python hands over to the constants of a model.
#pragma once

#include "model.hpp"
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace dalembert::bind {

using Doubles = nanobind::ndarray<const double, nanobind::c_contig, nanobind::device::cpu>;
using Integers = nanobind::ndarray<const std::int32_t, nanobind::c_contig, nanobind::device::cpu>;

// constructs a model in place; the layout of the rows is in build.cpp
void build(BoundModel *self, Doubles numbers, Integers integers, Doubles gravity, Doubles chord_numbers, Integers chord_integers,
           Integers coupled, Doubles factors, Doubles pieces, Integers curves, Integers programs, Integers instructions, Doubles constants,
           Integers outputs, Doubles inner_starts, Doubles modal_numbers, Integers modal_integers);

// all constraint rows in an order of elimination, and those of them that are not repetitions
void settle_rows(BoundModel &model, const Integers &all, const Integers &lean);

// force elements, drives and laws of time; the layout of the rows is in build.cpp
void set_forces(BoundModel &model, const Doubles &force_numbers, const Integers &force_integers, const Doubles &drive_numbers,
                const Integers &drive_integers, const Doubles &law_numbers, const Integers &law_integers, const Doubles &parameters,
                const Integers &holonomic);

// elements with laws of their own, and the programs of these; the layout of the rows is in elements.cpp
void set_elements(BoundModel &model, const Doubles &port_numbers, const Integers &port_integers, const Integers &elements,
                  const Integers &inputs, const Doubles &feedback_numbers, const Integers &feedback_integers, const Integers &programs,
                  const Integers &instructions, const Doubles &constants, const Integers &outputs, const Doubles &table_numbers,
                  const Integers &tables);

} // namespace dalembert::bind
