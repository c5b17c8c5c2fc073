// Signals (Ctrl-C) during long calls.
//
// The calling thread checks for signals a few times a second, so that their handlers in Python run; the other threads
// read the result. A call is stopped by a flag that a handler has set, or by an error that it has raised.
#pragma once

#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "steppers/run.hpp"
#include <atomic>
#include <chrono>
#include <nanobind/nanobind.h>
#include <thread>

namespace dalembert::bind {

// set by a signal handler, read by all threads
struct Flag {
  std::atomic<bool> set{false};
};

class SignalCheck {
public:
  explicit SignalCheck(const Flag *flag = nullptr) : flag(flag) {}
  ~SignalCheck() { Py_XDECREF(raised); } // with the GIL
  SignalCheck(const SignalCheck &) = delete;
  SignalCheck &operator=(const SignalCheck &) = delete;

  // whether to stop; called without the GIL, by any of the threads
  bool stop_requested() {
    if (broken.load(std::memory_order_relaxed) || (flag && flag->set.load(std::memory_order_relaxed)))
      return true;
    if (std::this_thread::get_id() != caller)
      return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next)
      return false;
    next = now + pause;
    poll();
    return broken.load(std::memory_order_relaxed) || (flag && flag->set.load(std::memory_order_relaxed));
  }

  Stop stop() {
    return {[](void *self) { return static_cast<SignalCheck *>(self)->stop_requested(); }, this};
  }

  // with the GIL: raises in Python what a handler has raised; false if nothing was
  bool raise() {
    if (!raised)
      return false;
    PyObject *error = std::exchange(raised, nullptr);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error)), error);
    Py_DECREF(error);
    return true;
  }

private:
  static constexpr std::chrono::milliseconds pause{50};

  void poll() {
    const Acquired acquired;
    if (!acquire_or_block([] { return PyErr_CheckSignals(); }))
      return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    Py_XDECREF(std::exchange(raised, value));
    broken.store(true, std::memory_order_relaxed);
  }

  const Flag *flag;
  const std::thread::id caller = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now() + pause;
  std::atomic<bool> broken{false};
  PyObject *raised = nullptr;
};

} // namespace dalembert::bind
