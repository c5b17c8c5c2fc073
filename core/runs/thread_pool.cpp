#include "runs/thread_pool.hpp"
#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace dalembert {

namespace {

// batches often follow each other closely: a moment of spinning saves waking up
constexpr std::chrono::microseconds patience{50};

template <class T> void wait_while(const std::atomic<T> &value, T old) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (value.load(std::memory_order_acquire) == old) {
    if (std::chrono::steady_clock::now() > until) {
      value.wait(old, std::memory_order_acquire);
      return;
    }
    std::this_thread::yield();
  }
}

// free again at the end, whatever happens
struct Freed {
  std::atomic<bool> *busy;
  ~Freed() {
    if (busy)
      busy->store(false, std::memory_order_release);
  }
};

// Never destroyed: its threads wait until the process ends. A forked child has none of them and gets a new pool;
// nothing is locked on the way to it, because a lock that another thread held when the process forked stays locked in
// the child.
ThreadPool &the_pool() {
  static std::atomic<ThreadPool *> pool{nullptr};
  ThreadPool *now = pool.load(std::memory_order_acquire);
  while (!now || !now->is_of(this_process())) {
    ThreadPool *fresh = new ThreadPool(this_process());
    if (pool.compare_exchange_strong(now, fresh, std::memory_order_acq_rel)) {
      now = fresh;
      break;
    }
    delete fresh;
  }
  return *now;
}

} // namespace

long this_process() {
#if defined(_WIN32)
  return 0;
#else
  return long(getpid());
#endif
}

void ThreadPool::run(int count, const std::function<void(int)> &task, const Stop &stop) {
  if (count == 1)
    return task(0);
  the_pool().run_here(count, task, stop);
}

void ThreadPool::run_here(int count, const std::function<void(int)> &task, const Stop &stop) {
  const bool mine = !busy.exchange(true, std::memory_order_acquire);
  const Freed freed{mine ? &busy : nullptr};
  if (mine)
    grow(count - 1);
  const int helping = mine ? std::min(int(workers.size()), count - 1) : 0;
  if (!helping) {
    for (int k = 0; k < count; ++k)
      task(k);
    return;
  }
  job = &task;
  failed.store(false, std::memory_order_relaxed);
  waiting_for.store(helping, std::memory_order_relaxed);
  for (int k = 0; k < helping; ++k) {
    workers[std::size_t(k)].round.fetch_add(1, std::memory_order_release);
    workers[std::size_t(k)].round.notify_one();
  }
  attempt(0);
  for (int k = helping + 1; k < count; ++k) // more parts than workers
    attempt(k);
  if (stop.asked)
    wait_with_signals(stop);
  for (int left; (left = waiting_for.load(std::memory_order_acquire)) > 0;)
    wait_while(waiting_for, left);
  if (failed.load(std::memory_order_relaxed))
    std::rethrow_exception(std::exchange(failure, nullptr));
}

// one part; an exception is kept, because the workers need the job until all are done
void ThreadPool::attempt(int number) noexcept {
  try {
    (*job)(number);
  } catch (...) {
    if (!failed.exchange(true, std::memory_order_relaxed))
      failure = std::current_exception();
  }
}

// Naps that grow with the time that has passed, with a look for signals between them.
void ThreadPool::wait_with_signals(const Stop &stop) const {
  using namespace std::chrono;
  const auto began = steady_clock::now();
  while (waiting_for.load(std::memory_order_acquire) > 0 && !stop())
    std::this_thread::sleep_for(std::clamp(duration_cast<microseconds>((steady_clock::now() - began) / 50),
                                           microseconds(1), microseconds(5000)));
}

void ThreadPool::grow(int wanted) {
  try {
    while (int(workers.size()) < wanted) {
      Worker &worker = workers.emplace_back();
      try {
        std::thread(&ThreadPool::serve, this, std::ref(worker), int(workers.size())).detach();
      } catch (...) {
        workers.pop_back();
        throw;
      }
    }
  } catch (const std::system_error &) {
    // work with those that there are
  }
}

void ThreadPool::serve(Worker &worker, int number) {
  for (unsigned seen = 0;;) {
    wait_while(worker.round, seen);
    seen = worker.round.load(std::memory_order_acquire);
    attempt(number);
    if (waiting_for.fetch_sub(1, std::memory_order_acq_rel) == 1)
      waiting_for.notify_all();
  }
}

} // namespace dalembert
