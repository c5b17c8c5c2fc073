// The lock of the interpreter, released and acquired.
//
// While the interpreter shuts down it ends every thread that requests its lock by unwinding the thread's stack, which
// C++ does not survive. So such a thread stays where it is: the process is about to end.
#pragma once

#include <chrono>
#include <nanobind/nanobind.h>
#include <thread>

namespace dalembert::bind {

// calls a function of Python's that may end the thread, and throws nothing else
template <class F> auto acquire_or_block(F &&f) -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    nanobind::set_leak_warnings(false); // of what it holds
    for (;;)
      std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

class Released {
public:
  Released() : state(PyEval_SaveThread()) {}
  ~Released() {
    acquire_or_block([this] { PyEval_RestoreThread(state); });
  }
  Released(const Released &) = delete;
  Released &operator=(const Released &) = delete;

private:
  PyThreadState *state;
};

class Acquired {
public:
  Acquired() : state(acquire_or_block([] { return PyGILState_Ensure(); })) {}
  ~Acquired() { PyGILState_Release(state); }
  Acquired(const Acquired &) = delete;
  Acquired &operator=(const Acquired &) = delete;

private:
  PyGILState_STATE state;
};

} // namespace dalembert::bind
