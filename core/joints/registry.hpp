// The joint library, once: the number of a joint is its place in this list.
#pragma once

#include "joints/cylindrical.hpp"
#include "joints/fixed.hpp"
#include "joints/free.hpp"
#include "joints/planar.hpp"
#include "joints/prismatic.hpp"
#include "joints/revolute.hpp"
#include "joints/screw.hpp"
#include "joints/spherical.hpp"
#include "joints/universal.hpp"
#include "scalar/type_list.hpp"

namespace dalembert::DALEMBERT_ISA {

using JointLibrary = Types<Fixed, Revolute, Prismatic, Screw, Cylindrical, Universal<false>, Universal<true>,
                           Planar<false>, Planar<true>, Spherical<false>, Spherical<true>, Free<false>, Free<true>>;

} // namespace dalembert::DALEMBERT_ISA
