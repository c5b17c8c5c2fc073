// FMI 3.0 functions (Functional Mock-up Interface for Model Exchange, Co-Simulation, and Scheduled Execution, 3.0.1).
#include "fmi/instance.hpp"
#include <cstdint>
#include <cstring>

#if defined(_WIN32)
#define FMI_EXPORT extern "C" __declspec(dllexport)
#else
#define FMI_EXPORT extern "C" __attribute__((visibility("default")))
#endif

using dalembert::fmi::Instance;
using dalembert::fmi::Status;

namespace {

using fmi3Instance = void *;
using fmi3FMUState = void *;
using fmi3Environment = void *;
using fmi3ValueReference = std::uint32_t;
using fmi3Status = int;
using fmi3String = const char *;
using fmi3LogMessageCallback = void (*)(fmi3Environment, fmi3Status, fmi3String, fmi3String);

Instance *of(fmi3Instance instance) { return static_cast<Instance *>(instance); }

template <class F> fmi3Status guarded(fmi3Instance instance, F &&f) noexcept {
  if (!instance)
    return int(Status::error);
  try {
    return int(f(*of(instance)));
  } catch (const std::exception &error) {
    return int(of(instance)->refuse(error.what()));
  } catch (...) {
    return int(Status::fatal);
  }
}

fmi3Status no_variables(fmi3Instance instance, std::size_t count) {
  if (!instance)
    return int(Status::error);
  return count ? int(of(instance)->refuse("there are variables of type Float64 only")) : int(Status::ok);
}

fmi3Status unsupported(fmi3Instance instance) {
  return instance ? int(of(instance)->refuse("the FMU does not offer this function")) : int(Status::error);
}

fmi3Instance instantiate(fmi3String token, fmi3String resources, bool co_simulation, fmi3Environment environment,
                         fmi3LogMessageCallback log) noexcept {
  const auto say = [=](Status status, const char *text) {
    if (log)
      log(environment, int(status), "logStatus", text);
  };
  try {
    return Instance::make(resources ? resources : "", token ? token : "", co_simulation, say).release();
  } catch (const std::exception &error) {
    say(Status::error, error.what());
  } catch (...) {
  }
  return nullptr;
}

} // namespace

FMI_EXPORT const char *fmi3GetVersion() { return "3.0"; }

FMI_EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance, bool, std::size_t, const fmi3String *) { return int(Status::ok); }

FMI_EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String, fmi3String token, fmi3String resources, bool, bool,
                                                     fmi3Environment environment, fmi3LogMessageCallback log) {
  return instantiate(token, resources, false, environment, log);
}

FMI_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String, fmi3String token, fmi3String resources, bool, bool,
                                                    bool, bool, const fmi3ValueReference *, std::size_t intermediate,
                                                    fmi3Environment environment, fmi3LogMessageCallback log, void *) {
  if (intermediate) {
    if (log)
      log(environment, int(Status::error), "logStatus", "the FMU has no intermediate variables");
    return nullptr;
  }
  return instantiate(token, resources, true, environment, log);
}

FMI_EXPORT fmi3Instance fmi3InstantiateScheduledExecution(fmi3String, fmi3String, fmi3String, bool, bool,
                                                          fmi3Environment environment, fmi3LogMessageCallback log,
                                                          void *, void *, void *) {
  if (log)
    log(environment, int(Status::error), "logStatus", "the FMU has no scheduled execution");
  return nullptr;
}

FMI_EXPORT void fmi3FreeInstance(fmi3Instance instance) { delete of(instance); }

FMI_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, bool has_tolerance, double tolerance,
                                                  double start, bool, double) {
  return guarded(instance, [&](Instance &i) { return i.enter_initialization(has_tolerance, tolerance, start); });
}

FMI_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
  return guarded(instance, [](Instance &i) { return i.exit_initialization(); });
}

FMI_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance instance) { return instance ? 0 : int(Status::error); }
FMI_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance instance) { return instance ? 0 : int(Status::error); }
FMI_EXPORT fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) { return instance ? 0 : int(Status::error); }

FMI_EXPORT fmi3Status fmi3Terminate(fmi3Instance instance) {
  return guarded(instance, [](Instance &i) { return i.terminate(); });
}
FMI_EXPORT fmi3Status fmi3Reset(fmi3Instance instance) {
  return guarded(instance, [](Instance &i) { return i.reset(); });
}

FMI_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference *references, std::size_t count,
                                     double *values, std::size_t value_count) {
  return guarded(instance, [&](Instance &i) { return i.get(references, count, values, value_count); });
}
FMI_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference *references, std::size_t count,
                                     const double *values, std::size_t value_count) {
  return guarded(instance, [&](Instance &i) { return i.set(references, count, values, value_count); });
}

#define NO_VARIABLES(name, type)                                                                                       \
  FMI_EXPORT fmi3Status fmi3Get##name(fmi3Instance instance, const fmi3ValueReference *, std::size_t count, type *,    \
                                      std::size_t) {                                                                   \
    return no_variables(instance, count);                                                                              \
  }                                                                                                                    \
  FMI_EXPORT fmi3Status fmi3Set##name(fmi3Instance instance, const fmi3ValueReference *, std::size_t count,            \
                                      const type *, std::size_t) {                                                     \
    return no_variables(instance, count);                                                                              \
  }
NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, std::int8_t)
NO_VARIABLES(UInt8, std::uint8_t)
NO_VARIABLES(Int16, std::int16_t)
NO_VARIABLES(UInt16, std::uint16_t)
NO_VARIABLES(Int32, std::int32_t)
NO_VARIABLES(UInt32, std::uint32_t)
NO_VARIABLES(Int64, std::int64_t)
NO_VARIABLES(UInt64, std::uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, fmi3String)

FMI_EXPORT fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference *, std::size_t count, std::size_t *,
                                    const std::uint8_t **, std::size_t) {
  return no_variables(instance, count);
}
FMI_EXPORT fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference *, std::size_t count,
                                    const std::size_t *, const std::uint8_t *const *, std::size_t) {
  return no_variables(instance, count);
}
FMI_EXPORT fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference *, std::size_t count, bool *) {
  return no_variables(instance, count);
}
FMI_EXPORT fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference *, std::size_t count, const bool *) {
  return no_variables(instance, count);
}

// ---- dependencies, derivatives, clocks: not offered

#define UNSUPPORTED(name, ...)                                                                                         \
  FMI_EXPORT fmi3Status fmi3##name(fmi3Instance instance __VA_OPT__(, ) __VA_ARGS__) { return unsupported(instance); }
UNSUPPORTED(GetNumberOfVariableDependencies, fmi3ValueReference, std::size_t *)
UNSUPPORTED(GetVariableDependencies, fmi3ValueReference, std::size_t *, fmi3ValueReference *, std::size_t *, int *,
            std::size_t)
UNSUPPORTED(GetDirectionalDerivative, const fmi3ValueReference *, std::size_t, const fmi3ValueReference *, std::size_t,
            const double *, std::size_t, double *, std::size_t)
UNSUPPORTED(GetAdjointDerivative, const fmi3ValueReference *, std::size_t, const fmi3ValueReference *, std::size_t,
            const double *, std::size_t, double *, std::size_t)
UNSUPPORTED(EnterConfigurationMode)
UNSUPPORTED(ExitConfigurationMode)
UNSUPPORTED(GetIntervalDecimal, const fmi3ValueReference *, std::size_t, double *, int *)
UNSUPPORTED(GetIntervalFraction, const fmi3ValueReference *, std::size_t, std::uint64_t *, std::uint64_t *, int *)
UNSUPPORTED(GetShiftDecimal, const fmi3ValueReference *, std::size_t, double *)
UNSUPPORTED(GetShiftFraction, const fmi3ValueReference *, std::size_t, std::uint64_t *, std::uint64_t *)
UNSUPPORTED(SetIntervalDecimal, const fmi3ValueReference *, std::size_t, const double *)
UNSUPPORTED(SetIntervalFraction, const fmi3ValueReference *, std::size_t, const std::uint64_t *, const std::uint64_t *)
UNSUPPORTED(SetShiftDecimal, const fmi3ValueReference *, std::size_t, const double *)
UNSUPPORTED(SetShiftFraction, const fmi3ValueReference *, std::size_t, const std::uint64_t *, const std::uint64_t *)
UNSUPPORTED(GetOutputDerivatives, const fmi3ValueReference *, std::size_t, const std::int32_t *, double *, std::size_t)
UNSUPPORTED(ActivateModelPartition, fmi3ValueReference, double)

FMI_EXPORT fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) { return instance ? 0 : int(Status::error); }

// ---- saved states

FMI_EXPORT fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state) {
  return guarded(instance, [&](Instance &i) {
    if (!state)
      return i.refuse("there is no place for the state");
    auto saved = std::make_unique<std::string>();
    const Status status = i.save(*saved);
    if (status != Status::ok)
      return status;
    delete static_cast<std::string *>(*state);
    *state = saved.release();
    return Status::ok;
  });
}
FMI_EXPORT fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
  return guarded(instance, [&](Instance &i) {
    const auto *saved = static_cast<const std::string *>(state);
    return saved ? i.restore(saved->data(), saved->size()) : i.refuse("there is no state");
  });
}
FMI_EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance, fmi3FMUState *state) {
  if (state) {
    delete static_cast<std::string *>(*state);
    *state = nullptr;
  }
  return int(Status::ok);
}
FMI_EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, std::size_t *size) {
  return guarded(instance, [&](Instance &i) {
    if (!state || !size)
      return i.refuse("there is no state");
    *size = static_cast<const std::string *>(state)->size();
    return Status::ok;
  });
}
FMI_EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, std::uint8_t *bytes,
                                            std::size_t size) {
  return guarded(instance, [&](Instance &i) {
    const auto *saved = static_cast<const std::string *>(state);
    if (!saved || !bytes || size < saved->size())
      return i.refuse("there is no state, or not room enough for it");
    std::memcpy(bytes, saved->data(), saved->size());
    return Status::ok;
  });
}
FMI_EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const std::uint8_t *bytes, std::size_t size,
                                              fmi3FMUState *state) {
  return guarded(instance, [&](Instance &i) {
    if (!bytes || !state)
      return i.refuse("there is no state");
    delete static_cast<std::string *>(*state);
    *state = new std::string(reinterpret_cast<const char *>(bytes), size);
    return Status::ok;
  });
}

// ---- model exchange

FMI_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, bool *update, bool *terminate, bool *nominals,
                                               bool *states_changed, bool *has_next, double *next) {
  return guarded(instance, [&](Instance &i) {
    Instance::Events events;
    const Status status = i.co_simulation ? Status::ok : i.update_events(events);
    *update = *terminate = *nominals = false;
    *states_changed = events.states_changed, *has_next = events.has_next, *next = events.next;
    return status;
  });
}
FMI_EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, bool, bool *event, bool *terminate) {
  return guarded(instance, [&](Instance &i) {
    *terminate = false;
    return i.completed_step(*event);
  });
}
FMI_EXPORT fmi3Status fmi3SetTime(fmi3Instance instance, double time) {
  return guarded(instance, [&](Instance &i) { return i.set_time(time); });
}
FMI_EXPORT fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const double *states, std::size_t count) {
  return guarded(instance, [&](Instance &i) { return i.set_states(states, count); });
}
FMI_EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance instance, double *states, std::size_t count) {
  return guarded(instance, [&](Instance &i) { return i.get_states(states, count); });
}
FMI_EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, double *rates, std::size_t count) {
  return guarded(instance, [&](Instance &i) { return i.get_rates(rates, count); });
}
FMI_EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance instance, double *values, std::size_t count) {
  return guarded(instance, [&](Instance &i) { return i.get_indicators(values, count); });
}
FMI_EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, double *nominals, std::size_t count) {
  return guarded(instance, [&](Instance &i) {
    if (count != i.state_count())
      return i.refuse("the nominal values do not fit the model");
    for (std::size_t k = 0; k < count; ++k)
      nominals[k] = 1.0;
    return Status::ok;
  });
}
FMI_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, std::size_t *count) {
  return guarded(instance, [&](Instance &i) {
    *count = i.state_count();
    return Status::ok;
  });
}
FMI_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, std::size_t *count) {
  return guarded(instance, [&](Instance &i) {
    *count = i.indicator_count();
    return Status::ok;
  });
}

// ---- co-simulation

FMI_EXPORT fmi3Status fmi3DoStep(fmi3Instance instance, double from, double length, bool, bool *event, bool *terminate,
                                 bool *early, double *reached) {
  return guarded(instance, [&](Instance &i) {
    *event = *terminate = *early = false;
    return i.do_step(from, length, *reached);
  });
}
