// A pool of threads that wait between batches, so that a batch does not pay for starting them.
#pragma once

#include "runs/stop.hpp"
#include <atomic>
#include <deque>
#include <exception>
#include <functional>

namespace dalembert {

// changes in a child after a fork
long this_process();

class ThreadPool {
public:
  explicit ThreadPool(long process) : process(process) {}
  bool is_of(long other) const { return process == other; }

  // runs task(0) ... task(count - 1), task(0) in the calling thread; returns when all are done. A second caller while
  // the pool is busy, or a lack of threads, makes it run them one after the other. Only as many threads are woken as
  // there are parts. `stop` is polled while the others finish, so that the caller can handle signals. The first
  // exception of any part is thrown again once all are done.
  static void run(int count, const std::function<void(int)> &task, const Stop &stop = {});

private:
  // a thread that serves; a new value of its round starts it
  struct Worker {
    std::atomic<unsigned> round{0};
  };

  void grow(int wanted);
  void serve(Worker &worker, int number);
  void attempt(int number) noexcept;
  void run_here(int count, const std::function<void(int)> &task, const Stop &stop);
  void wait_with_signals(const Stop &stop) const;

  const long process;
  // no mutex: a callback of the thread that has it may call `run` again
  std::atomic<bool> busy{false};
  std::deque<Worker> workers;      // keep their addresses
  std::atomic<int> waiting_for{0}; // workers still busy
  const std::function<void(int)> *job = nullptr;
  std::atomic<bool> failed{false};
  std::exception_ptr failure; // written by the thread that set `failed`, read when all are done
};

} // namespace dalembert
