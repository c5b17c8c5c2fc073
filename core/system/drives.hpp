// What drives demand of coordinates and of constraint rows.
#pragma once

#include "elements/laws.hpp"

namespace dalembert::DALEMBERT_ISA {

// position, speed and acceleration of a driven coordinate, or residual and rates of a driven row; only from the drive's
// level on
template <class T> inline LawValue<T> demand(const ModelData &m, const DriveData &drive, const T &t, const double *hosted) {
  const LawValue<T> law = law_at(m, drive.law, t, hosted);
  const T nothing(0.0);
  if (drive.level == 1)
    return {nothing, law.value, law.rate};
  if (drive.level == 2)
    return {nothing, nothing, law.value};
  if (!drive.cosine)
    return {law.value - drive.offset, law.rate, law.second};
  T s, c;
  sincos(law.value, s, c);
  return {c - drive.offset, -s * law.rate, -s * law.second - c * law.rate * law.rate};
}

// positions and speeds of driven hinges, as their laws have them; null where not wanted
template <class T> inline void impose(const ModelData &m, const T &t, const double *hosted, T *q, T *v) {
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row >= 0 || drive.level > 1)
      continue;
    const LawValue<T> wanted = demand(m, drive, t, hosted);
    if (q && drive.level == 0)
      q[drive.coordinate] = wanted.value;
    if (v)
      v[drive.freedom] = wanted.rate;
  }
}

// accelerations of driven hinges; zero where a freedom is locked
template <class T> inline void prescribe(const ModelData &m, const unsigned char *given, const T &t, const double *hosted, T *a) {
  for (int f = 0; given && f < m.nv; ++f)
    if (given[f])
      a[f] = T(0.0);
  for (int k = 0; given && k < m.drive_count; ++k)
    if (m.drives[k].row < 0)
      a[m.drives[k].freedom] = demand(m, m.drives[k], t, hosted).second;
}

// targets, 3 x nc: residual, rate and second rate demanded of every row
template <class T> inline void set_targets(const ModelData &m, const T &t, const double *hosted, T *targets) {
  for (int i = 0; i < 3 * m.nc; ++i)
    targets[i] = T(0.0);
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row < 0)
      continue;
    const LawValue<T> wanted = demand(m, drive, t, hosted);
    targets[drive.row] = wanted.value;
    targets[m.nc + drive.row] = wanted.rate;
    targets[2 * m.nc + drive.row] = wanted.second;
  }
}

} // namespace dalembert::DALEMBERT_ISA
