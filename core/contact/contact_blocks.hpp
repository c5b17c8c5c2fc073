// Rows of contacts on the velocities of a system, and the response of the velocities to impulses along them, in the form
// of numerics/cone_sweeps.hpp.
//
// A block is a tree of the model; with loops, all velocities. Rows of a contact point with axes e (two tangents, then the
// normal n from the first to the second shape), x_1 and x_2 its points on either:
//
//     J v = e . (v_2(x_2) - v_1(x_1)),     Y = J P                                                                 (1)
//
// P: response of the velocities while drives, locks and loops hold.
#pragma once

#include "contact/joint_rows.hpp"

namespace dalembert::DALEMBERT_ISA {

// blocks of the model, once for a run
void find_blocks(const ModelData &m, ContactSteps &c);

// frames in the world and their motion at q, v; motions of the bodies in `c.motions`, of cut joints in `c.cut_q`, `c.cut_v`
void move_bodies(const RunContext &i, ContactSteps &c, const double *q, const double *v);

// J and Y of all rows in their order, at the configuration of `move_bodies`; factors are those of this configuration.
// factored: the last evaluation of the equations of motion was at q; free bodies then respond by themselves.
void respond_to_contacts(const RunContext &i, ContactSteps &c, const std::vector<ScenePoint> &points, double t,
                         const double *q, bool factored = false);

// Response of a free body at rest to a load at the origin of F, both in its axes, after set_free_block.
void set_free_block(const BodyData &b, FreeBlock &block);
Motion<double> respond_freely(const FreeBlock &block, const Load<double> &load);

// u = J v of a row
void row_velocity(const ContactSteps &c, std::size_t row, const double *v, double u[3]);

// v += Y' lam of the rows [begin, end)
void add_response(const ContactSteps &c, std::size_t begin, std::size_t end, const double *lam, double *v);

} // namespace dalembert::DALEMBERT_ISA
