#include "friction/mode_log.hpp"
#include <algorithm>

namespace dalembert {

std::int8_t mode_code(double side, bool stuck, bool locked) {
  return std::int8_t(int(side) + 1 + 3 * stuck + 6 * locked);
}

void ModeLog::take(FrictionRun &friction) {
  for (const FrictionChange &change : friction.changes) {
    times.push_back(change.t);
    has_strong_gain = has_strong_gain || !change.jams.empty() || !change.gain_rows.empty();
    const FrictionModes &modes = change.modes;
    signs.insert(signs.end(), modes.sign.begin(), modes.sign.end());
    for (std::size_t k = 0; k < modes.sign.size(); ++k) {
      const bool locked = std::find(modes.locked.begin(), modes.locked.end(), int(k)) != modes.locked.end();
      codes.push_back(mode_code(modes.side[k], modes.stuck[k], locked));
    }
    for (const StopImpact &impact : change.impacts)
      impacts.push_back({change.t, impact});
    if (!change.hold.rows.empty())
      holds.push_back({change.t, change.hold});
    unloaded.insert(unloaded.end(), change.unloaded.begin(), change.unloaded.end());
  }
  friction.changes.clear();
}

} // namespace dalembert
