// Threads that wait between batches, so that a batch does not pay for starting them.
#pragma once

#include "bind/signals.hpp"
#include <atomic>
#include <deque>
#include <exception>
#include <functional>

namespace dalembert::bind {

// changes in a child after a fork
long this_process();

class ThreadPool {
public:
  explicit ThreadPool(long process) : process(process) {}
  bool is_of(long other) const { return process == other; }

  // runs task(0) ... task(count - 1), task(0) in the calling thread; returns when all are done. A second caller while the
  // crew is busy, or a lack of threads, makes it run them one after the other. Only as many threads are woken as there are
  // parts. With `attention`, signals are looked for while the others finish. The first exception of any part is thrown again
  // once all are done.
  static void run(int count, const std::function<void(int)> &task, SignalCheck *attention = nullptr);

private:
  // a thread that serves; a new value of its round starts it
  struct Worker {
    std::atomic<unsigned> round{0};
  };

  void grow(int hands);
  void serve(Worker &hand, int number);
  void attempt(int number) noexcept;
  void run_here(int count, const std::function<void(int)> &task, SignalCheck *attention);
  void wait_with_signals(SignalCheck &attention) const;

  const long process;
  std::atomic<bool> busy{false};                    // no mutex: who has it may come again, from what it calls in Python
  std::deque<Worker> hands;                           // stay where they are
  std::atomic<int> waiting_for{0};                  // workers still busy
  const std::function<void(int)> *job = nullptr;
  std::atomic<bool> failed{false};
  std::exception_ptr failure; // written by who set `failed`, read when all are done
};

} // namespace dalembert::bind
