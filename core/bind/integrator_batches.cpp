#include "bind/integrator.hpp"
#include "runs/gradients.hpp"

namespace dalembert::bind {

nb::tuple Integrator::batch(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v,
                            const Doubles &x, std::optional<Doubles> parameters, std::optional<Doubles> numbers,
                            int threads, std::optional<Doubles> breaks, std::optional<Places> spans, const Flag *flag,
                            nb::object batched_control, std::optional<Doubles> sequences,
                            std::optional<Doubles> friction_rows, std::optional<Places> run_numbers,
                            std::optional<Doubles> sample_times, std::optional<Doubles> effect_times,
                            nb::object sampled_function) {
  const ModelData &m = model->data;
  const std::size_t n = m.nq ? q.size() / std::size_t(m.nq) : 0;
  check(q, v, x, n);
  if (parameters && parameters->size() != n * std::size_t(m.parameter_count))
    throw nb::value_error("the parameters do not fit the runs");
  if (numbers && numbers->size() != n * std::size_t(m.parameter_maps.count))
    throw nb::value_error("the mapped parameters do not fit the runs");
  if (breaks && !(spans && spans->size() == n + 1 && std::size_t(spans->data()[n]) == breaks->size()))
    throw nb::value_error("the discontinuity times do not fit the runs");
  const ControlSequence *control_shape = run.conditions.sequence;
  if (sequences && !(control_shape && sequences->size() == n * std::size_t(control_shape->rows()) *
                                                               std::size_t(control_shape->channels)))
    throw nb::value_error("the control sequences do not fit the runs");
  if (friction_rows && !(friction && friction_rows->size() == n * (friction_columns * friction->rows.size() + 1)))
    throw nb::value_error("the rows of friction do not fit the runs");
  SignalCheck signals(flag);
  const CallbackFlag callback_flag(scope, flag);
  PythonControl control(m, scope, batched_control, nb::inst_ptr<BoundConditions>(chosen.ptr())->code.callback, signals);
  if (run_numbers && run_numbers->size() != n)
    throw nb::value_error("the numbers of the runs do not fit");
  const std::int64_t *numbers_of_runs = run_numbers ? run_numbers->data() : nullptr;
  CompiledControl compiled(m, scope, numbers_of_runs);
  SampledFunction sampled(m, sampled_function, numbers_of_runs);
  const bool is_compiled = scope.has_compiled_control();
  const BatchedControl batched = !sampled_function.is_none() ? sampled.plain()
                                 : is_compiled               ? compiled.plain()
                                                             : control.plain();
  BatchRequest request{.count = n,
                       .begin = begin,
                       .until = until,
                       .samples = {times.data(), std::ptrdiff_t(times.size()), 0},
                       .q = q.data(),
                       .v = v.data(),
                       .x = x.data()};
  request.parameters = parameters ? parameters->data() : nullptr;
  request.numbers = numbers ? numbers->data() : nullptr;
  request.discontinuities = breaks ? breaks->data() : nullptr;
  request.spans = spans ? spans->data() : nullptr;
  request.sequences = sequences ? sequences->data() : nullptr;
  request.threads = threads;
  request.control = batched_control.is_none() && !is_compiled && sampled_function.is_none() ? nullptr : &batched;
  if (sample_times && !(effect_times && effect_times->size() == sample_times->size() && request.control))
    throw nb::value_error("the samples of the control do not fit");
  const SampleTimes sampling{sample_times ? sample_times->data() : nullptr,
                             effect_times ? effect_times->data() : nullptr,
                             std::ptrdiff_t(sample_times ? sample_times->size() : 0)};
  request.sampling = sample_times ? &sampling : nullptr;
  request.run_numbers = numbers_of_runs;
  request.stop = signals.stop();
  request.self = &control;
  request.starting = [](void *self, std::size_t run) { static_cast<PythonControl *>(self)->start(run); };
  request.failed = [](void *self, std::size_t run) { static_cast<PythonControl *>(self)->take_error(run); };
  request.friction = friction_rows ? friction_rows->data() : nullptr;
  const BatchArrays made(m, n, times.size());
  modes.assign(friction ? n : 0, {});
  BatchResults results = made.results();
  results.modes = friction ? modes.data() : nullptr;
  event_logs.assign(events ? n : 0, {});
  results.events = events ? event_logs.data() : nullptr;
  sampled_forces.assign(n * std::size_t(sampling.count) * std::size_t(m.nv), 0.0);
  results.tau = sampled_forces.data();
  const ModelData &described = model->family.is_valid() ? bound(model->family.ptr())->data : m;
  std::vector<Scope::ControlFailure> failures;
  guarded([&] {
    run_batch(*model->integrators, m, described, run, request, results);
    failures = scope.take_failures();
    return Outcome::reached;
  });
  if (signals.raise())
    throw nb::python_error();
  errors = compiled.errors(failures, n);
  for (auto &[number, error] : control.errors)
    errors[nb::int_(number)] = error;
  sampled.add_errors(errors);
  return made.take();
}

nb::tuple Integrator::gradients(const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x,
                                const Doubles &q_bar, const Doubles &v_bar, const Doubles &x_bar,
                                std::optional<Doubles> parameters, std::optional<Doubles> numbers,
                                const Doubles &sequences, const Doubles &directions, int wanted, int threads,
                                const Flag *flag) {
  const ModelData &m = model->data;
  const std::size_t samples = times.size(), rows = samples && m.nq ? q.size() / std::size_t(m.nq) : 0,
                    n = samples ? rows / samples : 0, width = std::size_t(m.parameter_count + m.parameter_maps.count);
  const ControlSequence *control = run.conditions.sequence;
  const std::size_t channels = control ? std::size_t(control->rows()) * std::size_t(control->channels) : 0;
  check(q, v, x, n * samples);
  if (q_bar.size() != v.size() || v_bar.size() != v.size() || x_bar.size() != x.size() ||
      sequences.size() != n * channels || (width && directions.size() % width))
    throw nb::value_error("the arrays do not fit the runs");
  GradientRequest request{.count = n,
                          .samples = {times.data(), std::ptrdiff_t(samples), 0},
                          .q = q.data(),
                          .v = v.data(),
                          .x = x.data(),
                          .q_bar = q_bar.data(),
                          .v_bar = v_bar.data(),
                          .x_bar = x_bar.data()};
  request.parameters = parameters ? parameters->data() : nullptr;
  request.numbers = numbers ? numbers->data() : nullptr;
  request.sequences = sequences.data();
  request.directions = {directions.data(), int(width ? directions.size() / width : 0)};
  request.threads = threads;
  SignalCheck signals(flag);
  request.stop = signals.stop();
  const auto zeros = [](std::size_t rows, std::size_t columns) { return std::vector<double>(rows * columns, 0.0); };
  const std::size_t nv = std::size_t(m.nv), nx = std::size_t(m.nx);
  std::vector<double> outcomes = zeros(n, 1), by_q = zeros(n, nv), by_v = zeros(n, nv), by_x = zeros(n, nx),
                      by_control = zeros(n, channels), by_parameters = zeros(n, std::size_t(wanted));
  const GradientResults results{outcomes.data(),   by_q.data(),          by_v.data(),        by_x.data(),
                                by_control.data(), by_parameters.data(), std::size_t(wanted)};
  const ModelData &described = model->family.is_valid() ? bound(model->family.ptr())->data : m;
  guarded([&] {
    run_gradients(best_adjoints(), m, described, run, request, results);
    return Outcome::reached;
  });
  if (signals.raise())
    throw nb::python_error();
  const npy_intp count = npy_intp(n);
  return nb::make_tuple(doubles(outcomes.data(), {count}), doubles(by_q.data(), {count, m.nv}),
                        doubles(by_v.data(), {count, m.nv}), doubles(by_x.data(), {count, m.nx}),
                        doubles(by_control.data(), {count, npy_intp(control ? control->rows() : 0),
                                                    npy_intp(control ? control->channels : 0)}),
                        doubles(by_parameters.data(), {count, wanted}));
}

nb::object Integrator::take_sampled_forces() {
  nb::object found = doubles(sampled_forces.data(), {npy_intp(sampled_forces.size())});
  sampled_forces.clear();
  return found;
}

} // namespace dalembert::bind
