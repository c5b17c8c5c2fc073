// Derivatives of a part of a step of rigid contact (moreau.hpp), or of an impact within it.
//
// With the impulses Lam and the displacements y of the solution held, the end of a part is a smooth function of its
// begin, its length and its time:
//
//     (q1, v1, x1; u1, u, gap, gap1) = S(q, v, x, h, t; Lam, y)                                                    (7)
//
// u1, u: velocities of the rows with and without impulses before them; gap in the middle; gap1 = gap + h (u1_n + d_n / 2) / 2 + J P J' y,
// d: drift.
// The end depends on Lam and y through the velocities v1 of the middle and the displacement d, linearly through the
// responses Y: dv = Y' dLam, dd = Y_n' dy, du1 = D dLam, D = J P J'. How Lam and y vary follows from the cone problem and
// from the overlaps (simulation/contact/step_derivatives.py). Points are those of named features: none appears or
// vanishes nearby.
#pragma once

#include "contact/contact_steps.hpp"
#include "steppers/run.hpp"
#include <cstddef>
#include <vector>

namespace dalembert {

// of (7) for each row: u1 (3), u (3), gap, gap1, drift (3) and closing gap (contact/persistent_contacts.hpp)
constexpr std::size_t row_outputs = 12;

struct PartSlopes {
  std::vector<double> nominal;  // outputs of (7): xi from the recorded end (nv), v1, x1, rows
  std::vector<double> by_begin; // outputs x (nv + nv + nx + 2): by small motions, velocities, states, h, t
  std::vector<double> by_end;   // states x 2 nv: by velocities of the middle after the impulses, by displacements
  std::vector<double> Y, D;     // 3 rows x nv; 3 rows x 3 rows
  // space
  std::vector<ScenePoint> placed;
  std::vector<double> middle, up, down, change, q, v, x;
};

struct ContactPartSet {
  // `nominal`, under the conditions and contacts of the run
  Outcome (*outputs)(const ModelData &, Run &, std::byte *memory, const ContactPart &, PartSlopes &);
  // everything
  Outcome (*slopes)(const ModelData &, Run &, std::byte *memory, const ContactPart &, PartSlopes &);
};

const ContactPartSet &best_contact_parts();

} // namespace dalembert
