// FMI 2.0 functions (Functional Mock-up Interface for Model Exchange and Co-Simulation, 2.0.4).
#include "fmi/instance.hpp"
#include <cstring>

#if defined(_WIN32)
#define FMI_EXPORT extern "C" __declspec(dllexport)
#else
#define FMI_EXPORT extern "C" __attribute__((visibility("default")))
#endif

using dalembert::fmi::Instance;
using dalembert::fmi::Status;

namespace {

using fmi2Component = void *;
using fmi2FMUstate = void *;
using fmi2ValueReference = unsigned int;
using fmi2Status = int;
using fmi2String = const char *;
using fmi2Boolean = int;

struct fmi2CallbackFunctions {
  void (*logger)(void *, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
  void *(*allocateMemory)(std::size_t, std::size_t);
  void (*freeMemory)(void *);
  void (*stepFinished)(void *, fmi2Status);
  void *componentEnvironment;
};

struct fmi2EventInfo {
  fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged,
      valuesOfContinuousStatesChanged, nextEventTimeDefined;
  double nextEventTime;
};

struct Component {
  std::unique_ptr<Instance> instance;
  bool has_tolerance = false;
  double tolerance = 0.0, start = 0.0, reached = 0.0;
};

Component *of(fmi2Component component) { return static_cast<Component *>(component); }

template <class F> fmi2Status guarded(fmi2Component component, F &&f) noexcept {
  if (!component)
    return int(Status::error);
  Instance &instance = *of(component)->instance;
  try {
    return int(f(instance));
  } catch (const std::exception &error) {
    return int(instance.refuse(error.what()));
  } catch (...) {
    return int(Status::fatal);
  }
}

fmi2Status no_variables(fmi2Component component, std::size_t count) {
  return guarded(component, [&](Instance &i) {
    return count ? i.refuse("there are variables of type Real only") : Status::ok;
  });
}

fmi2Status unsupported(fmi2Component component) {
  return guarded(component, [](Instance &i) { return i.refuse("the FMU does not offer this function"); });
}

// "file:///tmp/a%20b" to "/tmp/a b"; on Windows to "C:/..."
std::string path_of(const char *location) {
  std::string text = location ? location : "";
  if (text.rfind("file:", 0) == 0) {
    text.erase(0, 5);
    if (text.rfind("//", 0) == 0)
      text.erase(0, text.find('/', 2));
#if defined(_WIN32)
    if (text.rfind("/", 0) == 0)
      text.erase(0, 1);
#endif
  }
  std::string path;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto digit = [&](std::size_t at) { return std::string("0123456789abcdef").find(char(std::tolower(text[at]))); };
    if (text[k] == '%' && k + 2 < text.size() && digit(k + 1) < 16 && digit(k + 2) < 16) {
      path += char(16 * digit(k + 1) + digit(k + 2));
      k += 2;
    } else {
      path += text[k];
    }
  }
  return path;
}

} // namespace

FMI_EXPORT const char *fmi2GetTypesPlatform() { return "default"; }
FMI_EXPORT const char *fmi2GetVersion() { return "2.0"; }
FMI_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component, fmi2Boolean, std::size_t, const fmi2String *) { return 0; }

FMI_EXPORT fmi2Component fmi2Instantiate(fmi2String name, int type, fmi2String token, fmi2String resources,
                                         const fmi2CallbackFunctions *callbacks, fmi2Boolean, fmi2Boolean) {
  const auto logger = callbacks ? callbacks->logger : nullptr;
  void *environment = callbacks ? callbacks->componentEnvironment : nullptr;
  try {
    const auto say = [logger, environment, own = std::string(name ? name : "")](Status status, const char *text) {
      if (!logger)
        return;
      std::string format; // some importers do not read further arguments
      for (; *text; ++text)
        format.append(*text == '%' ? 2 : 1, *text);
      logger(environment, own.c_str(), int(status), "logStatus", format.c_str());
    };
    auto instance = Instance::make(path_of(resources), token ? token : "", type == 1, say);
    if (!instance)
      return nullptr;
    auto made = std::make_unique<Component>();
    made->instance = std::move(instance);
    return made.release();
  } catch (...) {
    return nullptr;
  }
}
FMI_EXPORT void fmi2FreeInstance(fmi2Component component) { delete of(component); }

FMI_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component component, fmi2Boolean has_tolerance, double tolerance,
                                          double start, fmi2Boolean, double) {
  return guarded(component, [&](Instance &) {
    Component &c = *of(component);
    c.has_tolerance = has_tolerance, c.tolerance = tolerance, c.start = start;
    return Status::ok;
  });
}
FMI_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component component) {
  return guarded(component, [&](Instance &i) {
    const Component &c = *of(component);
    return i.enter_initialization(c.has_tolerance, c.tolerance, c.start);
  });
}
FMI_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component component) {
  return guarded(component, [](Instance &i) { return i.exit_initialization(); });
}
FMI_EXPORT fmi2Status fmi2Terminate(fmi2Component component) {
  return guarded(component, [](Instance &i) { return i.terminate(); });
}
FMI_EXPORT fmi2Status fmi2Reset(fmi2Component component) {
  return guarded(component, [](Instance &i) { return i.reset(); });
}

FMI_EXPORT fmi2Status fmi2GetReal(fmi2Component component, const fmi2ValueReference *references, std::size_t count,
                                  double *values) {
  return guarded(component, [&](Instance &i) { return i.get(references, count, values, count); });
}
FMI_EXPORT fmi2Status fmi2SetReal(fmi2Component component, const fmi2ValueReference *references, std::size_t count,
                                  const double *values) {
  return guarded(component, [&](Instance &i) { return i.set(references, count, values, count); });
}

#define NO_VARIABLES(name, type)                                                                                       \
  FMI_EXPORT fmi2Status fmi2Get##name(fmi2Component c, const fmi2ValueReference *, std::size_t count, type *) {        \
    return no_variables(c, count);                                                                                     \
  }                                                                                                                    \
  FMI_EXPORT fmi2Status fmi2Set##name(fmi2Component c, const fmi2ValueReference *, std::size_t count, const type *) {  \
    return no_variables(c, count);                                                                                     \
  }
NO_VARIABLES(Integer, int)
NO_VARIABLES(Boolean, fmi2Boolean)
NO_VARIABLES(String, fmi2String)

// ---- saved states

FMI_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component component, fmi2FMUstate *state) {
  return guarded(component, [&](Instance &i) {
    auto saved = std::make_unique<std::string>();
    const Status status = i.save(*saved);
    if (status != Status::ok)
      return status;
    delete static_cast<std::string *>(*state);
    *state = saved.release();
    return Status::ok;
  });
}
FMI_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component component, fmi2FMUstate state) {
  return guarded(component, [&](Instance &i) {
    const auto *saved = static_cast<const std::string *>(state);
    return saved ? i.restore(saved->data(), saved->size()) : i.refuse("there is no state");
  });
}
FMI_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component, fmi2FMUstate *state) {
  if (state) {
    delete static_cast<std::string *>(*state);
    *state = nullptr;
  }
  return 0;
}
FMI_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component component, fmi2FMUstate state, std::size_t *size) {
  return guarded(component, [&](Instance &i) {
    if (!state || !size)
      return i.refuse("there is no state");
    *size = static_cast<const std::string *>(state)->size();
    return Status::ok;
  });
}
FMI_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component component, fmi2FMUstate state, char *bytes,
                                            std::size_t size) {
  return guarded(component, [&](Instance &i) {
    const auto *saved = static_cast<const std::string *>(state);
    if (!saved || !bytes || size < saved->size())
      return i.refuse("there is no state, or not room enough for it");
    std::memcpy(bytes, saved->data(), saved->size());
    return Status::ok;
  });
}
FMI_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component component, const char *bytes, std::size_t size,
                                              fmi2FMUstate *state) {
  return guarded(component, [&](Instance &i) {
    if (!bytes || !state)
      return i.refuse("there is no state");
    delete static_cast<std::string *>(*state);
    *state = new std::string(bytes, size);
    return Status::ok;
  });
}
FMI_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component component, const fmi2ValueReference *, std::size_t,
                                                   const fmi2ValueReference *, std::size_t, const double *, double *) {
  return unsupported(component);
}

// ---- model exchange

FMI_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component component) { return component ? 0 : int(Status::error); }
FMI_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component component) {
  return component ? 0 : int(Status::error);
}
FMI_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component component, fmi2EventInfo *info) {
  return guarded(component, [&](Instance &i) {
    Instance::Events events;
    const Status status = i.update_events(events);
    *info = {0, 0, 0, events.states_changed, events.has_next, events.next};
    return status;
  });
}
FMI_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component component, fmi2Boolean, fmi2Boolean *event,
                                                  fmi2Boolean *terminate) {
  return guarded(component, [&](Instance &i) {
    bool needs_event = false;
    const Status status = i.completed_step(needs_event);
    *event = needs_event, *terminate = 0;
    return status;
  });
}
FMI_EXPORT fmi2Status fmi2SetTime(fmi2Component component, double time) {
  return guarded(component, [&](Instance &i) { return i.set_time(time); });
}
FMI_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component component, const double *states, std::size_t count) {
  return guarded(component, [&](Instance &i) { return i.set_states(states, count); });
}
FMI_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component component, double *states, std::size_t count) {
  return guarded(component, [&](Instance &i) { return i.get_states(states, count); });
}
FMI_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component component, double *rates, std::size_t count) {
  return guarded(component, [&](Instance &i) { return i.get_rates(rates, count); });
}
FMI_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component component, double *values, std::size_t count) {
  return guarded(component, [&](Instance &i) { return i.get_indicators(values, count); });
}
FMI_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component component, double *nominals, std::size_t count) {
  return guarded(component, [&](Instance &i) {
    if (count != i.state_count())
      return i.refuse("the nominal values do not fit the model");
    for (std::size_t k = 0; k < count; ++k)
      nominals[k] = 1.0;
    return Status::ok;
  });
}

// ---- co-simulation

FMI_EXPORT fmi2Status fmi2DoStep(fmi2Component component, double from, double length, fmi2Boolean) {
  return guarded(component, [&](Instance &i) { return i.do_step(from, length, of(component)->reached); });
}
FMI_EXPORT fmi2Status fmi2CancelStep(fmi2Component component) { return unsupported(component); }
FMI_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component component, const fmi2ValueReference *, std::size_t,
                                                  const int *, const double *) {
  return unsupported(component);
}
FMI_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component component, const fmi2ValueReference *, std::size_t,
                                                   const int *, double *) {
  return unsupported(component);
}
FMI_EXPORT fmi2Status fmi2GetStatus(fmi2Component component, int, fmi2Status *) { return unsupported(component); }
FMI_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component component, int kind, double *value) {
  if (!component || kind != 2) // the time of the last step that was taken
    return unsupported(component);
  *value = of(component)->reached;
  return 0;
}
FMI_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component component, int, int *) { return unsupported(component); }
FMI_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component component, int, fmi2Boolean *value) {
  if (value)
    *value = 0;
  return component ? 0 : int(Status::error);
}
FMI_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component component, int, fmi2String *) { return unsupported(component); }
