#include "system/conditions.hpp"
#include <algorithm>
#include <stdexcept>

namespace dalembert {

PrescribedDofs prescribed_dofs(const ModelData &m, const std::vector<std::int32_t> &locked) {
  PrescribedDofs marks;
  const auto in_tree = [&](std::int32_t f) { return f < m.nv; };
  const auto of_tree = [](const DriveData &drive) { return drive.row < 0; };
  const bool any =
      std::any_of(locked.begin(), locked.end(), in_tree) || std::any_of(m.drives, m.drives + m.drive_count, of_tree);
  for (std::vector<unsigned char> *each : {&marks.acceleration, &marks.velocity, &marks.position})
    each->assign(any ? std::size_t(m.nv) : 0, 0);
  for (const DriveData *drive = m.drives; drive != m.drives + m.drive_count; ++drive) {
    if (!of_tree(*drive))
      continue;
    const std::int32_t count = drive->turns ? 3 + drive->moves : 1;
    for (std::size_t f = std::size_t(drive->dof); f < std::size_t(drive->dof + count); ++f)
      marks.acceleration[f] = 1, marks.velocity[f] = drive->level <= 1, marks.position[f] = drive->level == 0;
  }
  marks.cut_velocity.assign(std::all_of(locked.begin(), locked.end(), in_tree) ? 0 : std::size_t(m.cut_nv), 0);
  for (const std::int32_t f : locked) {
    if (f < 0 || f >= m.nv + m.cut_nv)
      throw std::invalid_argument("a locked DOF is out of range");
    if (f >= m.nv)
      marks.cut_velocity[std::size_t(f - m.nv)] = 1;
    else
      marks.acceleration[std::size_t(f)] = marks.velocity[std::size_t(f)] = marks.position[std::size_t(f)] = 1;
  }
  return marks;
}

} // namespace dalembert
