// Flexible bodies: small deformation by modes, in a frame B that moves freely.
//
// A body of nm modes with coordinates eta takes these places in the list of bodies:
//
//     carrier  massless, at the end of the body's joint: the node d that the joint holds, turned to the joint's axes
//     modal    frame B, with all the mass; its degrees of freedom are eta, its pose in the carrier is the inverse of
//              that of node d
//     nodes    massless frames of the other nodes that something attaches to, children of B; no degrees of freedom of
//              their own
//
// so that joints, markers, loop constraints, elements and loads see plain bodies, and each elimination is that of Jain
// & Rodriguez 1990, (7.9): first the modes, then the joint (erratum: (7.6) has the two exchanged), 6 x 6 between
// bodies.
//
// A node with rest place l and shapes lambda_r (slopes), gamma_r (displacements), and, with geometric stiffening,
// turns f_rs and displacements g_rs of second order, has in B
//
//     p = l + gamma eta + 1/2 eta g eta     R = exp(theta~), theta = lambda eta + 1/2 eta f eta
//     omega = J(theta) theta',  J = 1 + a theta~ + b theta~^2     v = (gamma + g eta) eta'                          (1)
//
// (With the tables of the source, omega = theta': right to first order only, and not the rate of any attitude.)
//
// The body's inertia against [eta''; alpha; acc of B], all integrals over the undeformed body, rows r, s summed over:
//
//     M = [G, F^T, E^T; F, J, h~; E, -h~, m]
//     E_r = E0_r + E1_rs eta_s       F_r = F0_r + F1_rs eta_s      h = h0 + 1/2 (E0_r + E_r) eta_r
//     J = J0 + 1/2 (J1_r + K_r) eta_r     K_r = dJ/deta_r = J1_r + 2 J2_rs eta_s                                    (2)
//
// and what velocities leave, from Lagrange's equations in quasi-velocities, so that energy and momentum are kept
// whatever the integrals are:
//
//     b_r = omega . (F1_rs - F1_sr) eta'_s - 1/2 omega . K_r omega
//     b_omega = omega x (J omega + F_r eta'_r) + K_r eta'_r omega + F1_rs eta'_r eta'_s
//     b_v = omega x (omega x h) + 2 omega x E_r eta'_r + E1_rs eta'_r eta'_s                                        (3)
//
// For point masses, (2) and (3) are (B.8) and (B.50) of the source (errata corrected); otherwise the source keeps the
// direction of nodal inertias in some terms and turns them in others. Its tables are there for comparison.
#pragma once

#include "flexible/modal_bodies.hpp"
#include "flexible/modal_inertia.hpp"
#include "flexible/node.hpp"
