// The C border: every function catches everything, and turns it into a code and a message.
#include "border/run.hpp"
#include "kernels/dispatch.hpp"
#include <algorithm>
#include <cstring>
#include <new>

using namespace dalembert;
using namespace dalembert::border;

namespace {

template <class F> int guarded(dal_run *run, F &&f) noexcept {
  try {
    return f();
  } catch (const CallError &error) {
    try {
      run->message = error.message;
    } catch (...) {
    }
    return error.code;
  } catch (const std::bad_alloc &) {
    return DAL_NO_MEMORY;
  } catch (const std::exception &error) {
    try {
      run->message = error.what();
    } catch (...) {
    }
    return DAL_BAD_VALUE;
  } catch (...) {
    return DAL_BAD_CALL;
  }
}

void put_text(char *text, std::size_t room, const char *message) {
  if (!text || !room)
    return;
  const std::size_t length = std::min(room - 1, std::strlen(message));
  std::memcpy(text, message, length);
  text[length] = '\0';
}

bool is_kind(dal_kind kind) { return int(kind) >= 0 && int(kind) < kind_count; }

const NameRow *name_at(const dal_model *model, dal_kind kind, std::int64_t index) {
  if (!model || !is_kind(kind) || index < 0 || std::size_t(index) >= model->names(kind).size())
    return nullptr;
  return &model->names(kind)[std::size_t(index)];
}

int no_run(dal_kind kind) {
  return is_kind(kind) ? DAL_BAD_CALL : DAL_BAD_NAME;
}

} // namespace

const char *dal_version(void) noexcept { return DALEMBERT_VERSION; }

const char *dal_instruction_set(void) noexcept { return processor_is_served() ? best_kernels().isa : nullptr; }

const char *dal_method_name(std::int32_t method) noexcept {
  if (!processor_is_served() || method < 0)
    return nullptr;
  const char *name = best_integrators().name(method);
  return name && std::strcmp(name, "moreau") ? name : nullptr;
}

int dal_open(const void *bytes, std::size_t size, dal_model **model, char *text, std::size_t room) noexcept {
  if (!model)
    return DAL_BAD_CALL;
  *model = nullptr;
  put_text(text, room, "");
  if (!processor_is_served()) {
    put_text(text, room, "this library was built for another processor");
    return DAL_BAD_CALL;
  }
  try {
    *model = new dal_model(bytes, size);
    return DAL_OK;
  } catch (const VersionError &error) {
    put_text(text, room, error.what());
    return DAL_BAD_VERSION;
  } catch (const std::bad_alloc &) {
    put_text(text, room, "out of memory");
    return DAL_NO_MEMORY;
  } catch (const std::exception &error) { // FileError, and what `complete` refuses
    put_text(text, room, error.what());
    return DAL_BAD_FILE;
  } catch (...) {
    return DAL_BAD_FILE;
  }
}

void dal_close(dal_model *model) noexcept {
  if (model)
    model->release();
}

std::int64_t dal_count(const dal_model *model, dal_kind kind) noexcept {
  return model && is_kind(kind) ? std::int64_t(model->names(kind).size()) : -1;
}

const char *dal_name(const dal_model *model, dal_kind kind, std::int64_t index) noexcept {
  const NameRow *name = name_at(model, kind, index);
  return name ? model->file.text_at(name->name) : nullptr;
}

const char *dal_unit(const dal_model *model, dal_kind kind, std::int64_t index) noexcept {
  const NameRow *name = name_at(model, kind, index);
  return name ? model->file.text_at(name->unit) : nullptr;
}

const char *dal_meaning(const dal_model *model, dal_kind kind, std::int64_t index) noexcept {
  const NameRow *name = name_at(model, kind, index);
  return name ? model->file.text_at(name->meaning) : nullptr;
}

std::int64_t dal_find(const dal_model *model, dal_kind kind, const char *name) noexcept {
  if (!model || !is_kind(kind) || !name)
    return -1;
  try {
    const auto found = model->index[int(kind)].find(name);
    return found == model->index[int(kind)].end() ? -1 : found->second;
  } catch (...) {
    return -1;
  }
}

int dal_is_tunable(const dal_model *model, dal_kind kind, std::int64_t index) noexcept {
  const NameRow *name = name_at(model, kind, index);
  return name && (kind == DAL_INPUT || (kind == DAL_PARAMETER && name->flags & is_tunable));
}

double dal_start_time(const dal_model *model) noexcept { return model ? model->file.settings.t : 0.0; }

std::uint64_t dal_checksum(const dal_model *model) noexcept { return model ? model->file.sum : 0; }

void dal_options_of(const dal_model *model, dal_options *options) noexcept {
  if (!options)
    return;
  *options = dal_options{sizeof(dal_options), -1, 0.0, 1.0, 0.0, 0.0, 0};
  if (model) {
    const SettingsRow &s = model->file.settings;
    options->rtol = s.rtol, options->max_step = s.max_step, options->fixed_step = s.fixed_step;
  }
}

int dal_run_new(dal_model *model, const dal_options *given, dal_run **run) noexcept {
  if (!model || !run)
    return DAL_BAD_CALL;
  *run = nullptr;
  dal_options options;
  dal_options_of(model, &options);
  options.rtol = options.max_step = options.fixed_step = 0.0;
  if (given) {
    if (given->size < sizeof(std::size_t) || given->size > sizeof options)
      return DAL_BAD_VERSION;
    std::memcpy(&options, given, given->size);
    const double numbers[] = {options.rtol, options.atol_factor, options.max_step, options.fixed_step};
    for (const double number : numbers)
      if (!(number >= 0.0))
        return DAL_BAD_VALUE;
    if (options.rtol >= 1.0)
      return DAL_BAD_VALUE;
  }
  try {
    *run = new dal_run(model, options);
    return DAL_OK;
  } catch (const CallError &error) {
    return error.code;
  } catch (const std::bad_alloc &) {
    return DAL_NO_MEMORY;
  } catch (...) {
    return DAL_BAD_FILE;
  }
}

void dal_run_free(dal_run *run) noexcept { delete run; }

const char *dal_message(const dal_run *run) noexcept { return run ? run->message.c_str() : "there is no run"; }

int dal_set(dal_run *run, dal_kind kind, std::int64_t index, double value) noexcept {
  if (!run || !is_kind(kind))
    return no_run(kind);
  return guarded(run, [&] { return run->set(kind, index, value), DAL_OK; });
}

int dal_get(dal_run *run, dal_kind kind, std::int64_t index, double *value) noexcept {
  if (!run || !is_kind(kind) || !value)
    return no_run(kind);
  return guarded(run, [&] { return *value = run->get(kind, index), DAL_OK; });
}

int dal_read(dal_run *run, dal_kind kind, double *values) noexcept {
  if (!run || !is_kind(kind) || !values)
    return no_run(kind);
  return guarded(run, [&] { return run->read(kind, values), DAL_OK; });
}

int dal_write(dal_run *run, dal_kind kind, const double *values) noexcept {
  if (!run || !is_kind(kind) || !values)
    return no_run(kind);
  return guarded(run, [&] {
    for (std::size_t k = 0; k < run->model->names(kind).size(); ++k)
      run->set(kind, std::int64_t(k), values[k]);
    return DAL_OK;
  });
}

int dal_start(dal_run *run, double t) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->start(t), DAL_OK; });
}

int dal_is_started(const dal_run *run) noexcept { return run && run->started; }

int dal_reset(dal_run *run) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->reset(), DAL_OK; });
}

int dal_advance(dal_run *run, double until) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->advance(until); });
}

double dal_time(const dal_run *run) noexcept { return run ? run->time() : 0.0; }

const char *dal_method(const dal_run *run) noexcept { return run && run->started ? run->method_name() : ""; }

void dal_counts_of(const dal_run *run, dal_counts *counts) noexcept {
  if (!counts)
    return;
  dal_counts found{counts->size, 0, 0, 0, 0, 0, 0};
  if (run) {
    const Counts &c = run->run.counts;
    found = {counts->size, c.steps, c.rejected, c.evaluations, c.jacobians, c.factorizations, c.projections};
  }
  std::memcpy(counts, &found, std::min(counts->size, sizeof found));
}

std::size_t dal_state_bytes(const dal_run *run) noexcept {
  try {
    return run ? run->saved().size() : 0;
  } catch (...) {
    return 0;
  }
}

int dal_state_get(const dal_run *run, void *bytes, std::size_t size) noexcept {
  if (!run || !bytes)
    return DAL_BAD_CALL;
  return guarded(const_cast<dal_run *>(run), [&] {
    const std::string saved = run->saved();
    if (saved.size() > size)
      throw CallError{DAL_BAD_VALUE, "there is not room enough: see dal_state_bytes"};
    std::memcpy(bytes, saved.data(), saved.size());
    return DAL_OK;
  });
}

int dal_state_set(dal_run *run, const void *bytes, std::size_t size) noexcept {
  if (!run || !bytes)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->restore(static_cast<const char *>(bytes), size), DAL_OK; });
}

int dal_put(dal_run *run, double t, const double *q, const double *v, const double *x) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->put(t, q, v, x), DAL_OK; });
}

int dal_derivatives(dal_run *run, double *dq, double *a, double *dx) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->derivatives(dq, a, dx), DAL_OK; });
}

int dal_project(dal_run *run, double *q, double *v, double *x) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->project(q, v, x), DAL_OK; });
}

int dal_drift(dal_run *run, double *positions, double *rates) noexcept {
  if (!run || !positions || !rates)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->drift(*positions, *rates), DAL_OK; });
}

int dal_motion_many(dal_run *run, std::int64_t n, const double *q, const double *v, const double *tau,
                    double *a) noexcept {
  if (!run)
    return DAL_BAD_CALL;
  return guarded(run, [&] { return run->motion_many(n, q, v, tau, a), DAL_OK; });
}
