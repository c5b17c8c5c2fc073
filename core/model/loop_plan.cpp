#include "model/loop_plan.hpp"
#include "model/tables.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dalembert {

namespace {

using Int = std::int32_t;
Int count_of(std::size_t n) { return Int(n); }
std::size_t at(Int n) { return std::size_t(n); }

// memory that pieces share: a piece's is free again when it has been merged
struct SharedMemory {
  std::multimap<std::int64_t, std::int64_t> free; // size, offset
  std::int64_t used = 0;
  std::pair<std::int64_t, std::int64_t> take(std::int64_t size) {
    const auto found = free.lower_bound(size);
    if (found == free.end() || found->first > 4 * size) {
      used += size;
      return {used - size, size};
    }
    const std::pair<std::int64_t, std::int64_t> piece{found->second, found->first};
    free.erase(found);
    return piece;
  }
  void give_back(std::pair<std::int64_t, std::int64_t> piece) { free.emplace(piece.second, piece.first); }
};

// a row with an end at a body: sign of its load there, 0 for couplings
struct RowEnd {
  Int row, sign;
};

struct Planner {
  const ModelData &m;
  const std::vector<unsigned char> &wanted; // rows
  Tables::LoopFronts &out;
  std::vector<std::vector<Int>> children;
  std::vector<std::vector<Int>> ends;    // of each body: loop constraints with an end there
  std::vector<std::vector<Int>> coupled; // of each body: couplings of its joint
  std::vector<Int> rows, end_count;      // of each loop constraint: rows that are wanted, ends
  std::vector<std::vector<Int>> merges;  // of each body: its children in the order in which they are merged
  std::vector<Int> leave_time;           // of each loop constraint
  std::vector<Int> place;                // of each row, in the one order
  std::vector<Int> row_at;               // inverse of place

  void find_ends() {
    const std::size_t bodies = at(m.nb) + 1, constraints = at(m.loop_constraint_count);
    children.resize(bodies), ends.resize(bodies), coupled.resize(bodies), merges.resize(bodies);
    rows.assign(constraints, 0), end_count.assign(constraints, 0), leave_time.assign(constraints, -1);
    std::vector<Int> body_of(at(m.nv));
    for (Int i = 1; i <= m.nb; ++i) {
      children[at(m.bodies[i].parent)].push_back(i);
      for (Int f = 0; f < m.bodies[i].nv; ++f)
        body_of[at(m.bodies[i].v + f)] = i;
    }
    for (Int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &c = m.loop_constraints[k];
      for (Int j = c.row; j < c.row + c.rows; ++j)
        rows[at(k)] += wanted[at(j)];
      if (!rows[at(k)])
        continue;
      std::set<Int> bodies_of;
      if (c.form == LoopConstraintForm::coupling)
        for (Int s = c.support; s < c.support + c.supports; ++s)
          bodies_of.insert(body_of[at(m.support[s])]);
      else
        bodies_of = {c.body_a, c.body_b};
      for (const Int i : bodies_of)
        (c.form == LoopConstraintForm::coupling ? coupled : ends)[at(i)].push_back(k);
      end_count[at(k)] = count_of(bodies_of.size());
    }
  }

  // children in the order of merging, and when the rows of each loop constraint leave
  void order_merges() {
    std::vector<std::map<Int, Int>> open(at(m.nb) + 1); // of each piece: loop constraint, ends that it has
    Int time = 0;
    for (Int i = m.nb; i >= 0; --i) {
      std::map<Int, Int> &have = open[at(i)];
      for (const Int k : ends[at(i)])
        have[k] = 1;
      for (const Int k : coupled[at(i)])
        have[k] += 0;
      leave_complete(i, have, have, time);
      merge_children(i, open, time);
      for (const Int k : coupled[at(i)]) // behind the joint
        ++have[k];
    }
  }

  // children one after the other: next comes the one with the highest score, rows that the piece has already less
  // others
  void merge_children(Int i, std::vector<std::map<Int, Int>> &open, Int &time) {
    std::map<Int, Int> &have = open[at(i)];
    std::map<Int, std::vector<Int>> holders; // children in which a loop constraint is open
    std::map<Int, Int> scores;
    std::set<std::pair<Int, Int>> waiting; // highest score first
    for (const Int c : children[at(i)]) {
      Int score = 0;
      for (const auto &[k, number] : open[at(c)]) {
        holders[k].push_back(c);
        score += have.count(k) ? rows[at(k)] : -rows[at(k)];
      }
      scores[c] = score;
      waiting.insert({-score, c});
    }
    while (!waiting.empty()) {
      const Int c = waiting.begin()->second;
      waiting.erase(waiting.begin());
      merges[at(i)].push_back(c);
      for (const auto &[k, number] : open[at(c)]) {
        if (!have.count(k))
          for (const Int other : holders[k]) {
            const auto found = waiting.find({-scores[other], other});
            if (found == waiting.end())
              continue;
            waiting.erase(found);
            scores[other] += 2 * rows[at(k)];
            waiting.insert({-scores[other], other});
          }
        have[k] += number;
      }
      leave_complete(i, open[at(c)], have, time);
      open[at(c)].clear();
    }
  }

  void leave_complete(Int i, const std::map<Int, Int> &candidates, std::map<Int, Int> &have, Int &time) {
    std::vector<Int> done;
    for (const auto &[k, number] : m.bodies[i].form == JointForm::modal ? std::map<Int, Int>{} : candidates)
      if (const auto found = have.find(k); found != have.end() && found->second == end_count[at(k)])
        done.push_back(k);
    for (const Int k : done) {
      leave_time[at(k)] = time;
      have.erase(k);
    }
    ++time;
  }

  // one order of all rows: those that leave last first
  void order_rows() {
    for (Int r = 0; r < m.nc; ++r)
      if (wanted[at(r)])
        row_at.push_back(r);
    std::sort(row_at.begin(), row_at.end(), [&](Int a, Int b) {
      const Int ta = leave_time[at(m.constraint_of_row[a])], tb = leave_time[at(m.constraint_of_row[b])];
      return ta != tb ? ta > tb : a < b;
    });
    place.assign(at(m.nc), -1);
    for (std::size_t k = 0; k < row_at.size(); ++k)
      place[at(row_at[k])] = count_of(k);
  }

  Int index() const { return count_of(out.indices.size()); }

  void add_rows_of(Int k, std::vector<RowEnd> &found, Int sign) const {
    const LoopConstraintData &c = m.loop_constraints[k];
    for (Int j = c.row; j < c.row + c.rows; ++j)
      if (wanted[at(j)])
        found.push_back({j, sign});
  }

  void put_open(Int i, std::vector<Int> &piece) {
    std::vector<RowEnd> found;
    for (const Int k : ends[at(i)]) {
      const LoopConstraintData &c = m.loop_constraints[k];
      add_rows_of(k, found, c.body_a == c.body_b ? 0 : c.body_b == i ? 1 : -1);
    }
    for (const Int k : coupled[at(i)])
      add_rows_of(k, found, 0);
    std::sort(found.begin(), found.end(), [&](RowEnd a, RowEnd b) { return place[at(a.row)] < place[at(b.row)]; });
    out.steps.push_back({LoopStepKind::open, i, 0, count_of(found.size()), 0, count_of(found.size()), index(), 0, 0});
    for (const RowEnd &each : found) {
      out.indices.push_back(each.row), out.indices.push_back(each.sign);
      piece.push_back(place[at(each.row)]);
    }
  }

  // places that follow each other: how many such runs, and of each where it begins, its first place and its length
  void put_runs(Int first, Int size) {
    const std::size_t number = out.indices.size();
    out.indices.push_back(0);
    for (Int s = 0; s < size; ++s) {
      const Int to = out.indices[at(first + s)];
      if (out.indices[number] && to == out.indices[out.indices.size() - 2] + out.indices.back()) {
        ++out.indices.back();
      } else {
        out.indices.insert(out.indices.end(), {s, to, 1});
        ++out.indices[number];
      }
    }
  }

  void put_merge(Int i, Int c, std::vector<Int> &piece, const std::vector<Int> &child) {
    std::vector<Int> both;
    std::set_union(piece.begin(), piece.end(), child.begin(), child.end(), std::back_inserter(both));
    const Int start = index();
    Int moves = 0;
    const auto put = [&](const std::vector<Int> &from) {
      for (std::size_t s = 0, to = 0; s < from.size(); ++s, ++to) {
        while (both[to] != from[s])
          ++to;
        out.indices.push_back(count_of(to));
        moves |= to != s;
      }
    };
    put(piece);
    const Int moved = moves;
    put(child);
    put_runs(start, count_of(piece.size()));
    put_runs(start + count_of(piece.size()), count_of(child.size()));
    for (std::size_t s = 0; m.bodies[c].form == JointForm::node && s < child.size(); ++s)
      out.indices.push_back(row_at[at(child[s])]);
    out.steps.push_back({LoopStepKind::merge, i, c, count_of(piece.size()), count_of(child.size()),
                         count_of(both.size()), start, moved, 0});
    piece.swap(both);
  }

  void put_leave(Int i, std::vector<Int> &piece, Int time, LoopPlan &plan) {
    const Int width = count_of(piece.size());
    Int stay = width;
    while (stay && leave_time[at(m.constraint_of_row[row_at[at(piece[at(stay - 1)])]])] == time)
      --stay;
    if (stay == width)
      return;
    out.steps.push_back(
        {LoopStepKind::leave, i, 0, width, width - stay, stay, index(), plan.row_count, plan.row_numbers});
    for (const Int p : piece)
      out.indices.push_back(row_at[at(p)]);
    for (Int s = stay; s < width; ++s) {
      plan.row_numbers += s;
      plan.work += 0.5 * double(s + 7) * double(s + 7);
    }
    plan.row_count += width - stay;
    piece.resize(at(stay));
  }

  void put_joint(Int i, const std::vector<Int> &piece, LoopPlan &plan) {
    const Int width = count_of(piece.size()), start = index();
    for (const Int p : piece)
      out.indices.push_back(row_at[at(p)]);
    const BodyData &b = m.bodies[i];
    Int terms = 0;
    for (const Int k : coupled[at(i)]) {
      const LoopConstraintData &c = m.loop_constraints[k];
      const Int slot = Int(std::lower_bound(piece.begin(), piece.end(), place[at(c.row)]) - piece.begin());
      for (Int s = 0; s < c.supports; ++s) {
        const Int f = m.support[c.support + s] - b.v;
        if (f < 0 || f >= b.nv)
          continue;
        out.indices.insert(out.indices.end(), {f, slot, k, s});
        ++terms;
      }
    }
    out.steps.push_back({LoopStepKind::joint, i, 0, width, terms, width, start, 0, plan.joint_numbers});
    plan.joint_numbers += std::int64_t(b.nv) * width;
    plan.work += 250.0 + b.nv * (0.5 * double(width + 6) * double(width + 6));
    if (b.form == JointForm::modal || b.form == JointForm::node)
      plan.work += b.moves * (20.0 + 6.0 * width + double(b.moves) * b.moves / 6.0);
  }

  void put_steps(LoopPlan &plan) {
    std::vector<std::vector<Int>> pieces(at(m.nb) + 1);
    out.pieces.assign(at(m.nb) + 1, {});
    Int time = 0;
    const auto leave = [&](Int i) { put_leave(i, pieces[at(i)], time++, plan); };
    const auto widen = [&](Int i) {
      LoopPieceData &piece = out.pieces[at(i)];
      piece.width = std::max(piece.width, count_of(pieces[at(i)].size()));
    };
    for (Int i = m.nb; i >= 0; --i) {
      put_open(i, pieces[at(i)]);
      widen(i);
      leave(i);
      for (const Int c : merges[at(i)]) {
        put_merge(i, c, pieces[at(i)], pieces[at(c)]);
        widen(i);
        leave(i);
        pieces[at(c)].clear();
      }
      if (i)
        put_joint(i, pieces[at(i)], plan);
    }
  }

  // A piece goes on in the matrix of the child that it merges first, unless rows leave before: `numbers` of its open and
  // of that merge are 1, and both matrices are as wide as the wider one. Returns of each body the one with which the
  // matrix begins.
  std::vector<Int> share_matrices() {
    std::vector<Int> first(out.pieces.size());
    for (std::size_t k = 0; k < out.steps.size(); ++k) {
      LoopStepData &open = out.steps[k];
      if (open.kind != LoopStepKind::open)
        continue;
      first[at(open.body)] = open.body;
      if (k + 1 == out.steps.size() || out.steps[k + 1].kind != LoopStepKind::merge)
        continue;
      LoopStepData &merge = out.steps[k + 1];
      open.numbers = merge.numbers = 1;
      first[at(open.body)] = first[at(merge.child)];
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      Int &width = out.pieces[at(first[i])].width;
      width = std::max(width, out.pieces[i].width);
    }
    for (std::size_t i = 0; i < first.size(); ++i)
      out.pieces[i].width = out.pieces[at(first[i])].width;
    return first;
  }

  void place_numbers(LoopPlan &plan) {
    SharedMemory matrices, slots;
    const std::vector<Int> first = share_matrices();
    std::vector<std::pair<std::int64_t, std::int64_t>> matrix_of(out.pieces.size()), slots_of(out.pieces.size());
    for (const LoopStepData &step : out.steps) {
      LoopPieceData &piece = out.pieces[at(step.body)];
      if (step.kind == LoopStepKind::open) {
        plan.max_width = std::max(plan.max_width, piece.width);
        auto &matrix = matrix_of[at(first[at(step.body)])];
        if (!step.numbers)
          matrix = matrices.take(std::int64_t(piece.width) * piece.width);
        slots_of[at(step.body)] = slots.take(piece.width);
        piece.matrix = matrix.first;
        piece.slots = slots_of[at(step.body)].first;
      } else if (step.kind == LoopStepKind::merge) {
        if (!step.numbers)
          matrices.give_back(matrix_of[at(first[at(step.child)])]);
        slots.give_back(slots_of[at(step.child)]);
      }
    }
    plan.matrix = matrices.used;
    plan.slots = slots.used;
    for (Int i = 1; i <= m.nb; ++i) {
      if (m.bodies[i].form != JointForm::modal)
        continue;
      LoopPieceData &piece = out.pieces[at(i)];
      const std::int64_t modes = piece.modes = m.bodies[i].nv;
      piece.square = plan.squares, plan.squares += modes * modes;
      piece.factor = plan.modal_factors, plan.modal_factors += modes * (modes - 1) / 2;
      piece.modal_slots = plan.modal_slots, plan.modal_slots += modes * piece.width;
    }
  }
};

LoopPlan make_plan(const ModelData &m, const std::vector<unsigned char> &wanted, Tables::LoopFronts &out) {
  LoopPlan plan{};
  Planner planner{m, wanted, out, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  planner.find_ends();
  planner.order_merges();
  planner.order_rows();
  planner.put_steps(plan);
  planner.place_numbers(plan);
  plan.step_count = count_of(out.steps.size());
  plan.steps = out.steps.data();
  plan.pieces = out.pieces.data();
  plan.indices = out.indices.data();
  return plan;
}

// multiplications of the responses of the trees, of D and of its factors (constraints/loop_envelope.hpp)
double work_of_envelope(const ModelData &m) {
  double work = 0.0;
  for (Int i = 0; i < m.independent_rows.count; ++i) {
    const LoopConstraintData &c = m.loop_constraints[m.independent_rows.constraint[i]];
    const double width = i - m.independent_rows.first[i] + 1;
    double reach = 0.0;
    for (Int k = c.tree; k < c.tree + c.trees; ++k)
      reach += m.bodies[m.tree[k]].v_end - m.bodies[m.tree[k]].v;
    work += 25.0 * reach + 2.0 * width * c.supports + 0.5 * width * width;
  }
  return work;
}

} // namespace

void complete_loop_plans(Tables &t, ModelData &m) {
  constexpr Int fewest = 12; // rows; fewer are solved faster together
  if (m.independent_rows.count < fewest)
    return;
  const LoopPlan independent = make_plan(m, t.is_independent, t.independent_loop_fronts);
  if (!(1.2 * independent.work < work_of_envelope(m)))
    return;
  m.loop_plan = independent;
  m.all_loop_plan = make_plan(m, std::vector<unsigned char>(at(m.nc), 1), t.all_loop_fronts);
}

} // namespace dalembert
