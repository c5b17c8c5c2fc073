// Values that drives prescribe for coordinates and constraint rows.
#pragma once

#include "elements/time_laws.hpp"
#include "joints/quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

// position, velocity and acceleration of a driven coordinate, or residual and rates of a driven row; only from the
// drive's level on
template <class T>
inline LawValue<T> drive_demand(const ModelData &m, const DriveData &drive, const T &t, const double *callback_laws) {
  const LawValue<T> law = law_at(m, drive.law, t, callback_laws);
  const T nothing(0.0);
  if (drive.level == 1)
    return {nothing, law.value, law.rate};
  if (drive.level == 2)
    return {nothing, nothing, law.value};
  if (!drive.cosine)
    return {law.value - offset_of<T>(m, drive), law.rate, law.second};
  T s, c;
  sincos(law.value, s, c);
  return {c - offset_of<T>(m, drive), -s * law.rate, -s * law.second - c * law.rate * law.rate};
}

// quaternion (w, x, y, z) and its first two rates
template <class T> struct Turning { T p[4], rate[4], second[4]; };

template <class T> inline void multiply_quaternions(const T *a, const T *b, double factor, T *sum) {
  sum[0] = sum[0] + factor * (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]);
  sum[1] = sum[1] + factor * (a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]);
  sum[2] = sum[2] + factor * (a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]);
  sum[3] = sum[3] + factor * (a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]);
}

// a turn by an angle about a coordinate axis
template <class T> inline Turning<T> turning_about(int axis, const LawValue<T> &angle) {
  Turning<T> e;
  for (int k = 0; k < 4; ++k)
    e.p[k] = e.rate[k] = e.second[k] = T(0.0);
  T s, c;
  sincos(0.5 * angle.value, s, c);
  const T half = 0.5 * angle.rate, bend = 0.5 * angle.second;
  e.p[0] = c, e.p[1 + axis] = s;
  e.rate[0] = -half * s, e.rate[1 + axis] = half * c;
  e.second[0] = -bend * s - half * half * c, e.second[1 + axis] = bend * c - half * half * s;
  return e;
}

// one turn after another, each about axes that the ones before have turned
template <class T> inline Turning<T> after(const Turning<T> &a, const Turning<T> &b) {
  Turning<T> e;
  for (int k = 0; k < 4; ++k)
    e.p[k] = e.rate[k] = e.second[k] = T(0.0);
  multiply_quaternions(a.p, b.p, 1.0, e.p);
  multiply_quaternions(a.rate, b.p, 1.0, e.rate);
  multiply_quaternions(a.p, b.rate, 1.0, e.rate);
  multiply_quaternions(a.second, b.p, 1.0, e.second);
  multiply_quaternions(a.rate, b.rate, 2.0, e.second);
  multiply_quaternions(a.p, b.second, 1.0, e.second);
  return e;
}

// Coordinates, velocities and accelerations of a joint whose attitude, and place, laws prescribe: with p a quaternion
// of any length, and place c in axes of the first marker,
//
//     omega = 2 Im(p* p') / |p|^2     omega' = 2 Im(p* p'') / |p|^2 - 2 (p . p') / |p|^2 omega                      (1)
//     u = C^T c'                      u' = C^T c'' - omega x u                                                      (2)
template <class T> struct DrivenJoint { T q[7], v[6], a[6]; };
template <class T> inline DrivenJoint<T> driven_joint(const ModelData &m, const DriveData &drive, const T &t,
                                                      const double *callback_laws) {
  const auto law = [&](int k) { return law_at(m, drive.law + k, t, callback_laws); };
  Turning<T> e;
  if (drive.turns == 3) {
    e = after(after(turning_about(drive.axes[0], law(0)), turning_about(drive.axes[1], law(1))),
              turning_about(drive.axes[2], law(2)));
  } else {
    for (int k = 0; k < 4; ++k) {
      const LawValue<T> part = law(k);
      e.p[k] = part.value, e.rate[k] = part.rate, e.second[k] = part.second;
    }
  }
  const T square = e.p[0] * e.p[0] + e.p[1] * e.p[1] + e.p[2] * e.p[2] + e.p[3] * e.p[3], inverse = 1.0 / square,
          length = root(inverse);
  const T growth = 2.0 * inverse * (e.p[0] * e.rate[0] + e.p[1] * e.rate[1] + e.p[2] * e.rate[2] + e.p[3] * e.rate[3]);
  const T conjugate[4] = {e.p[0], -e.p[1], -e.p[2], -e.p[3]};
  T turn[4], bend[4];
  for (int k = 0; k < 4; ++k)
    turn[k] = bend[k] = T(0.0);
  multiply_quaternions(conjugate, e.rate, 2.0, turn);
  multiply_quaternions(conjugate, e.second, 2.0, bend);
  DrivenJoint<T> joint;
  for (int k = 0; k < 4; ++k)
    joint.q[k] = length * e.p[k];
  for (int k = 0; k < 3; ++k) {
    joint.v[k] = inverse * turn[1 + k];
    joint.a[k] = inverse * bend[1 + k] - growth * joint.v[k];
  }
  if (!drive.moves)
    return joint;
  const LawValue<T> x = law(drive.turns), y = law(drive.turns + 1), z = law(drive.turns + 2);
  const Mat3<T> C = rotation_of(joint.q);
  const Vec3<T> omega{joint.v[0], joint.v[1], joint.v[2]}, u = mul_t(C, Vec3<T>{x.rate, y.rate, z.rate});
  const Vec3<T> du = mul_t(C, Vec3<T>{x.second, y.second, z.second}) - cross(omega, u);
  joint.q[4] = x.value, joint.q[5] = y.value, joint.q[6] = z.value;
  joint.v[3] = u.x, joint.v[4] = u.y, joint.v[5] = u.z;
  joint.a[3] = du.x, joint.a[4] = du.y, joint.a[5] = du.z;
  return joint;
}

// positions and velocities of driven joints, as their laws have them; null where not wanted
template <class T> inline void impose_drives(const ModelData &m, const T &t, const double *callback_laws, T *q, T *v) {
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row >= 0 || drive.level > 1)
      continue;
    if (drive.turns) {
      const DrivenJoint<T> joint = driven_joint(m, drive, t, callback_laws);
      for (int j = 0; q && j < 4 + drive.moves; ++j)
        q[drive.coordinate + j] = joint.q[j];
      for (int j = 0; v && j < 3 + drive.moves; ++j)
        v[drive.dof + j] = joint.v[j];
      continue;
    }
    const LawValue<T> wanted = drive_demand(m, drive, t, callback_laws);
    if (q && drive.level == 0)
      q[drive.coordinate] = wanted.value;
    if (v)
      v[drive.dof] = wanted.rate;
  }
}

// accelerations of driven joints; zero where a degree of freedom is locked
template <class T>
inline void prescribe(const ModelData &m, const unsigned char *given, const T &t, const double *callback_laws, T *a) {
  for (int f = 0; given && f < m.nv; ++f)
    if (given[f])
      a[f] = T(0.0);
  for (int k = 0; given && k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.turns) {
      const DrivenJoint<T> joint = driven_joint(m, drive, t, callback_laws);
      for (int j = 0; j < 3 + drive.moves; ++j)
        a[drive.dof + j] = joint.a[j];
    } else if (drive.row < 0) {
      a[drive.dof] = drive_demand(m, drive, t, callback_laws).second;
    }
  }
}

// targets, 3 x nc: residual, rate and second rate demanded of every row
template <class T> inline void set_targets(const ModelData &m, const T &t, const double *callback_laws, T *targets) {
  for (int i = 0; i < 3 * m.nc; ++i)
    targets[i] = T(0.0);
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row < 0)
      continue;
    const LawValue<T> wanted = drive_demand(m, drive, t, callback_laws);
    targets[drive.row] = wanted.value;
    targets[m.nc + drive.row] = wanted.rate;
    targets[2 * m.nc + drive.row] = wanted.second;
  }
}

// by how much rows miss their targets: angles without whole turns
template <class T> inline void wrap_driven_angles(const ModelData &m, T *gaps) {
  for (int k = 0; k < m.drive_count; ++k)
    if (const DriveData &drive = m.drives[k]; drive.row >= 0 && drive.wraps)
      gaps[drive.row] = gaps[drive.row] - whole_turns(gaps[drive.row]);
}

} // namespace dalembert::DALEMBERT_ISA
