// The hinge library, once: the number of a hinge is its place in this list.
#pragma once

#include "hinges/cylindrical.hpp"
#include "hinges/fixed.hpp"
#include "hinges/free.hpp"
#include "hinges/planar.hpp"
#include "hinges/prismatic.hpp"
#include "hinges/revolute.hpp"
#include "hinges/screw.hpp"
#include "hinges/spherical.hpp"
#include "hinges/universal.hpp"
#include "scalar/types.hpp"

namespace dalembert::DALEMBERT_ISA {

using HingeLibrary = Types<Fixed, Revolute, Prismatic, Screw, Cylindrical, Universal<false>, Universal<true>, Planar<false>, Planar<true>,
                           Spherical<false>, Spherical<true>, Free<false>, Free<true>>;

} // namespace dalembert::DALEMBERT_ISA
