#include "friction/progress.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {

namespace {

constexpr int max_stalled_changes = 3;        // within min_progress before the rest tolerance is widened
constexpr double min_progress = 1e-9;         // of the run: less time between changes is no progress
constexpr double max_rest_tol_factor = 1e4;   // widest rest tolerance, relative to the first
constexpr int max_undecided_changes = 8;      // without progress: then rows at rest that changed twice are held
constexpr double max_hold_time = 1e-5;        // of the run; the first hold lasts min_progress
constexpr std::size_t stagnation_count = 200; // changes at the rate of stagnation_ahead: the run is given up
constexpr double stagnation_ahead = 1e7;      // changes in the whole run
constexpr std::size_t chattering_count = 40;  // changes without progress: the run is given up

bool is_recent(const FrictionRun &f, double moment, double t) { return t - moment <= min_progress * f.span; }

const unsigned char *changed_at(const FrictionRun &f, std::size_t change) {
  return f.progress.changed.data() + change * f.rows.size();
}

void stagnate(FrictionRun &f, std::size_t first, double t) {
  const FrictionProgress &p = f.progress;
  f.failure = FrictionFailure::stagnated;
  f.failed_changes = int(p.times.size() - first);
  f.failed_time = t - p.times[first];
}

} // namespace

void reserve_progress(FrictionProgress &p, std::size_t rows) {
  p.times.reserve(stagnation_count + 1);
  p.changed.reserve((stagnation_count + 1) * rows);
  p.changed.resize(p.times.size() * rows);
  p.held.resize(rows);
}

double rest_tol_factor(const FrictionRun &f, double t) {
  const FrictionProgress &p = f.progress;
  return p.times.empty() || is_recent(f, p.times.back(), t) ? p.rest_tol_factor : 1.0;
}

bool hold_undecided_rows(FrictionRun &f, double t, const std::vector<unsigned char> &resting,
                         std::vector<unsigned char> &held, HoldNote &note) {
  FrictionProgress &p = f.progress;
  const std::size_t n = f.rows.size();
  std::size_t recent = 0, first = p.times.size();
  for (std::size_t change = p.times.size(); change-- > 0 && is_recent(f, p.times[change], t);) {
    const unsigned char *rows = changed_at(f, change);
    if (std::find(rows, rows + n, 1) != rows + n)
      ++recent, first = change;
  }
  bool some = false, any = false;
  for (std::size_t k = 0; k < n; ++k) {
    held[k] = t < p.held_until && p.held[k] && resting[k];
    any = any || held[k];
    int count = 0;
    for (std::size_t change = first; change < p.times.size(); ++change)
      count += changed_at(f, change)[k];
    some = some || (count > 1 && resting[k]);
  }
  if (recent >= max_undecided_changes && some) {
    for (std::size_t k = 0; k < n; ++k) {
      int count = 0;
      for (std::size_t change = first; change < p.times.size(); ++change)
        count += changed_at(f, change)[k];
      held[k] = held[k] || (count > 1 && resting[k]);
      if (held[k])
        note.rows.push_back(std::int32_t(k));
    }
    p.held = held;
    p.hold_time = t - p.held_until <= 10.0 * p.hold_time ? 10.0 * p.hold_time : min_progress * f.span;
    if (p.hold_time > max_hold_time * f.span) {
      stagnate(f, first, t);
      f.failed_rows.assign(note.rows.begin(), note.rows.end());
      return false;
    }
    note.changes = int(recent), note.time = p.hold_time;
    p.held_until = t + p.hold_time;
    std::fill(p.changed.begin(), p.changed.end(), 0); // the count restarts after the hold
    any = true;
  }
  p.next_review = any ? p.held_until : std::numeric_limits<double>::infinity();
  return true;
}

bool record_progress(FrictionRun &f, double t, const FrictionModes &before, const std::vector<StopImpact> &impacts) {
  FrictionProgress &p = f.progress;
  const std::size_t n = f.rows.size();
  if (p.times.size() >= stagnation_count) {
    p.times.erase(p.times.begin());
    p.changed.erase(p.changed.begin(), p.changed.begin() + std::ptrdiff_t(n));
  }
  p.times.push_back(t);
  const FrictionModes &modes = f.modes;
  for (std::size_t k = 0; k < n; ++k)
    p.changed.push_back(before.stuck[k] != modes.stuck[k] || before.side[k] != modes.side[k] ||
                        (f.rows[k].group < 0 && before.sign[k] != modes.sign[k]));
  for (const StopImpact &impact : impacts)
    p.changed[p.changed.size() - n + std::size_t(impact.row)] = 1;
  const std::size_t count = p.times.size();
  const bool stalls = count > max_stalled_changes && is_recent(f, p.times[count - 1 - max_stalled_changes], t);
  p.rest_tol_factor = stalls ? std::min(10.0 * p.rest_tol_factor, max_rest_tol_factor) : 1.0;
  const double rate = double(stagnation_count) / stagnation_ahead;
  for (const auto &[changes, within] : {std::pair{chattering_count, min_progress}, {stagnation_count, rate}})
    if (count >= changes && t - p.times[count - changes] <= within * f.span) {
      stagnate(f, count - changes, t);
      f.failed_rows.clear();
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t change = count - changes; change < count; ++change)
          if (changed_at(f, change)[k]) {
            f.failed_rows.push_back(std::int32_t(k));
            break;
          }
      return false;
    }
  return true;
}

} // namespace dalembert
