// Kinematic motion of a model in joint coordinates: the Form of kinematics/sweep.hpp.
#pragma once

#include "kinematics/sweep.hpp"
#include "model/model_data.hpp"
#include "system/conditions.hpp"

namespace dalembert::DALEMBERT_ISA {

std::size_t bytes_sweep(const ModelData &m, const Conditions &c, bool jerk);
// row_scale: nc; zero where a row binds velocities alone, or nothing
SweepStatus sweep_model(const ModelData &m, std::byte *memory, const Conditions &c, const double *row_scale,
                        double floor, SweepCall &call);

} // namespace dalembert::DALEMBERT_ISA
