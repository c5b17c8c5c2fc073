#include "bind/inverse_kinematics.hpp"
#include "bind/arrays.hpp"
#include "bind/kernel_methods.hpp"
#include "runs/thread_pool.hpp"
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;
using Targets = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

void require(bool fits, const char *what) {
  if (!fits)
    throw nb::value_error(what);
}

// one problem: constant, may be used by many threads at once
struct BoundIkProblem {
  nb::object owner; // keeps the model alive
  const BoundModel *model;
  std::vector<nb::object> kept; // points
  std::vector<std::int32_t> closing, column, place;
  std::vector<double> row_scale, metric, lower, upper, per_unit, tolerance;
  std::vector<CutJointLimit> cut;
  std::vector<IkContext> views;
  std::vector<IkTarget> goals;
  std::vector<std::vector<double>> numbers;
  std::ptrdiff_t most = -1; // targets of a batch; -1: one for all
  IkProblem problem{};

  BoundIkProblem(nb::object owner, double t) : owner(owner), model(bound(owner.ptr())) { problem.t = t; }

  const PointsData &point(const nb::object &object) {
    require(is_made(object.ptr(), points_type()), "give points");
    const BoundPoints &found = *nb::inst_ptr<BoundPoints>(object);
    const ModelData &m = model->data;
    require(found.data.count == 1 && found.data.body <= m.nb &&
                (!found.data.nodes || m.bodies[found.data.body].form == JointForm::modal),
            "the points do not fit the model");
    kept.push_back(object);
    return found.data;
  }
  void close(const Places &rows, const Doubles &scales) {
    require(rows.size() == scales.size(), "the rows do not fit");
    std::int32_t last = -1;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      require(rows.data()[k] > last && rows.data()[k] < model->data.nc, "the rows do not fit");
      closing.push_back(last = rows.data()[k]);
      row_scale.push_back(scales.data()[k]);
    }
  }
  // velocities of cut joints by number; sign, bound, scale of each
  void limit(const Places &velocities, const Doubles &of) {
    require(of.size() == 3 * velocities.size(), "the limits do not fit");
    const ModelData &m = model->data;
    for (std::size_t k = 0; k < velocities.size(); ++k) {
      const std::int32_t velocity = velocities.data()[k];
      int constraint = 0;
      while (constraint < m.loop_constraint_count &&
             !(m.loop_constraints[constraint].nv && velocity >= m.loop_constraints[constraint].v &&
               velocity < m.loop_constraints[constraint].v + m.loop_constraints[constraint].nv))
        ++constraint;
      require(constraint < m.loop_constraint_count &&
                  m.loop_constraints[constraint].nq == m.loop_constraints[constraint].nv,
              "the limits do not fit");
      const double *row = of.data() + 3 * k;
      cut.push_back({constraint, velocity - m.loop_constraints[constraint].v, row[0], row[1], row[2]});
    }
  }
  void move(const Places &columns, const Places &places, const Doubles &of) {
    const std::size_t n = columns.size();
    require(n && places.size() == n && of.size() == 4 * n, "the columns do not fit");
    for (std::size_t k = 0; k < n; ++k) {
      require(columns.data()[k] >= 0 && columns.data()[k] < model->data.nv && places.data()[k] < model->data.nq,
              "the columns do not fit");
      column.push_back(columns.data()[k]);
      place.push_back(places.data()[k]);
    }
    int row = 0;
    for (std::vector<double> *each : {&metric, &lower, &upper, &per_unit})
      each->assign(of.data() + n * std::size_t(row), of.data() + n * std::size_t(row + 1)), ++row;
  }
  // kind, points of the view, letters (i, j, k, backwards), axis and scale (4,), wanted (b, numbers), meant (b, 3)
  void add_goal(int kind, const nb::object &marker, const nb::object &reference, const Places &letters,
                const Doubles &of, const Doubles &wanted, const Doubles &meant) {
    IkTarget goal{};
    goal.kind = GoalKind(kind);
    require(kind >= 0 && kind <= int(GoalKind::direction) && letters.size() == 4 && of.size() == 4 &&
                wanted.ndim() == 2 && meant.ndim() == 2 && wanted.shape(1) == std::size_t(goal.numbers()) &&
                meant.shape(1) == 3,
            "the goal does not fit");
    for (int k = 0; k < 3; ++k)
      require(letters.data()[k] >= 0 && letters.data()[k] < 3, "the goal does not fit");
    const IkContext view{point(marker), reference.is_none() ? PointsData{} : point(reference), !reference.is_none()};
    std::size_t at = 0;
    while (at < views.size() &&
           !(views[at].marker.frames == view.marker.frames && views[at].relative == view.relative &&
             views[at].reference.frames == view.reference.frames))
      ++at;
    if (at == views.size())
      views.push_back(view);
    goal.view = std::int32_t(at);
    std::copy_n(letters.data(), 3, goal.letters);
    goal.backwards = letters.data()[3] != 0;
    std::copy_n(of.data(), 3, goal.axis);
    goal.scale = of.data()[3];
    goal.wanted_stride = take(wanted), goal.meant_stride = take(meant);
    goals.push_back(goal);
  }
  std::ptrdiff_t take(const Doubles &array) {
    numbers.emplace_back(array.data(), array.data() + array.size());
    if (array.shape(0) == 1)
      return 0;
    require(most < 0 || most == std::ptrdiff_t(array.shape(0)), "targets differ in number");
    most = std::ptrdiff_t(array.shape(0));
    return std::ptrdiff_t(array.shape(1));
  }
  void settle(const Doubles &tolerances) {
    for (std::size_t k = 0; k < goals.size(); ++k)
      goals[k].wanted = numbers[2 * k].data(), goals[k].meant = numbers[2 * k + 1].data();
    tolerance.assign(tolerances.data(), tolerances.data() + tolerances.size());
    IkProblem &p = problem;
    p.closures = std::int32_t(closing.size()), p.limits = std::int32_t(cut.size()),
    p.goals = std::int32_t(goals.size());
    p.views = std::int32_t(views.size()), p.columns = std::int32_t(column.size());
    p.closing = closing.data(), p.row_scale = row_scale.data(), p.cut = cut.data(), p.goal = goals.data(),
    p.view = views.data();
    p.column = column.data(), p.place = place.data(), p.metric = metric.data(), p.lower = lower.data(),
    p.upper = upper.data();
    p.per_unit = per_unit.data(), p.tolerance = tolerance.data();
    require(p.columns > 0 && tolerance.size() == std::size_t(p.rows()), "the tolerances do not fit");
  }
  void fit(const Doubles &q, const Targets &which) const {
    require(q.ndim() == 2 && q.shape(1) == std::size_t(model->data.nq) && which.size() == q.shape(0),
            "the configurations do not fit");
    for (std::size_t k = 0; k < which.size(); ++k)
      require(which.data()[k] >= 0 && (most < 0 || which.data()[k] < most), "there is no such target");
  }
};

// runs work(workspace, number of the worker) on as many threads as there is work for, each with its own memory
template <class Task> void on_threads(const BoundIkProblem &reach, std::ptrdiff_t count, std::ptrdiff_t worth,
                                      SignalCheck &signals, Task &&task) {
  const std::ptrdiff_t workers = std::max<std::ptrdiff_t>(std::min<std::ptrdiff_t>(thread_count(), count / worth), 1);
  const std::size_t bytes = reach.model->kernels->bytes_ik(reach.model->data, reach.problem);
  std::vector<std::unique_ptr<BlockLease>> memory;
  for (std::ptrdiff_t k = 0; k < workers; ++k)
    memory.push_back(std::make_unique<BlockLease>(reach.model->packs, bytes));
  const Released released;
  ThreadPool::run(
      int(workers), [&](int k) { task(memory[std::size_t(k)]->data()); }, signals.stop());
}

// rows r (b, m), and J (b, m, n) if wanted, at q (b, nq) for targets `which` (b,)
nb::tuple rows(const BoundIkProblem &reach, const Doubles &q, const Targets &which, bool with_jacobian) {
  reach.fit(q, which);
  const npy_intp count = npy_intp(q.shape(0)), m = reach.problem.rows();
  nb::object r = new_array({count, m}), J = with_jacobian ? new_array({count, m, reach.problem.columns}) : nb::none();
  const IkRows call{q.data(), which.data(), data_of(r), with_jacobian ? data_of(J) : nullptr};
  const KernelSet &kernels = *reach.model->kernels;
  std::atomic<std::ptrdiff_t> next{0};
  const std::ptrdiff_t piece = 32 * kernels.lanes;
  SignalCheck signals;
  on_threads(reach, count, piece, signals, [&](std::byte *work) {
    for (std::ptrdiff_t begin;
         (begin = next.fetch_add(piece, std::memory_order_relaxed)) < count && !signals.stop_requested();)
      kernels.ik_rows(reach.model->data, work, reach.problem, call, begin,
                      std::min<std::ptrdiff_t>(begin + piece, count));
  });
  if (signals.raise())
    throw nb::python_error();
  return nb::make_tuple(r, J);
}

// Descents from q (b, nq) to zeros of r + shift ((b, m) or (1, m)): q, r, done (b,) bool, steps (b,), push (b, n).
nb::tuple descend(const BoundIkProblem &reach, const Doubles &q, const Targets &which, const Doubles &shift,
                  int iterations, int patience) {
  reach.fit(q, which);
  const npy_intp count = npy_intp(q.shape(0)), m = reach.problem.rows();
  require(shift.ndim() == 2 && shift.shape(1) == std::size_t(m) &&
              (shift.shape(0) == 1 || npy_intp(shift.shape(0)) == count),
          "the shifts do not fit");
  require(iterations >= 0 && patience > 0, "give numbers of steps");
  nb::object ends = new_array({count, reach.model->data.nq}), r = new_array({count, m}),
             gradient = new_array({count, reach.problem.columns});
  nb::object done = new_array({count}, NPY_BOOL), steps = new_array({count}, NPY_INT64);
  std::copy_n(q.data(), q.size(), data_of(ends));
  std::fill_n(data_of<unsigned char>(done), count, 0);
  std::fill_n(data_of<std::int64_t>(steps), count, 0);
  struct Queue {
    std::atomic<std::ptrdiff_t> next{0};
    std::ptrdiff_t count;
    SignalCheck signals;
  } queue;
  queue.count = count;
  DescentCall call{};
  call.which = which.data(), call.shift = shift.data(), call.shift_stride = shift.shape(0) == 1 ? 0 : m;
  call.iterations = iterations, call.patience = patience;
  call.q = data_of(ends), call.r = data_of(r), call.gradient = data_of(gradient);
  call.done = data_of<unsigned char>(done), call.steps = data_of<std::int64_t>(steps);
  call.self = &queue;
  call.next = [](void *self) {
    Queue &queue = *static_cast<Queue *>(self);
    const std::ptrdiff_t number =
        queue.signals.stop_requested() ? queue.count : queue.next.fetch_add(1, std::memory_order_relaxed);
    return number < queue.count ? number : -1;
  };
  on_threads(reach, count, 2 * reach.model->kernels->lanes, queue.signals,
             [&](std::byte *work) { reach.model->kernels->descend(reach.model->data, work, reach.problem, call); });
  if (queue.signals.raise())
    throw nb::python_error();
  return nb::make_tuple(ends, r, done, steps, gradient);
}

} // namespace

void add_inverse_kinematics(nb::module_ &module) {
  nb::class_<BoundIkProblem>(module, "IkProblem")
      .def(
          "__init__",
          [](BoundIkProblem *self, nb::object model, double t, const Places &rows, const Doubles &scales,
             const Places &cut, const Doubles &limits, const Places &columns, const Places &places,
             const Doubles &of_columns, const nb::list &goals, const Doubles &tolerances) {
            if (!is_made(model.ptr(), model_type()))
              throw nb::type_error("give a model");
            new (self) BoundIkProblem(model, t);
            try {
              self->close(rows, scales);
              self->limit(cut, limits);
              self->move(columns, places, of_columns);
              for (nb::handle goal : goals) {
                const nb::tuple g = nb::cast<nb::tuple>(goal);
                self->add_goal(nb::cast<int>(g[0]), nb::object(g[1]), nb::object(g[2]), nb::cast<Places>(g[3]),
                               nb::cast<Doubles>(g[4]), nb::cast<Doubles>(g[5]), nb::cast<Doubles>(g[6]));
              }
              self->settle(tolerances);
            } catch (...) {
              self->~BoundIkProblem();
              throw;
            }
          },
          nb::arg("model"), nb::arg("t"), nb::arg("rows"), nb::arg("scales"), nb::arg("cut"), nb::arg("limits"),
          nb::arg("columns"), nb::arg("places"), nb::arg("of_columns"), nb::arg("goals"), nb::arg("tolerances"))
      .def("rows", &rows, nb::arg("q"), nb::arg("which"), nb::arg("jacobian"))
      .def("descend", &descend, nb::arg("q"), nb::arg("which"), nb::arg("shift"), nb::arg("iterations"),
           nb::arg("patience"));
}

} // namespace dalembert::bind
