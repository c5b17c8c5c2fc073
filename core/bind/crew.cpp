#include "bind/crew.hpp"
#include <chrono>
#include <system_error>
#include <thread>
#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace dalembert::bind {

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

long process() {
#if defined(_WIN32)
  return 0;
#else
  return long(getpid());
#endif
}

// never destroyed: its threads wait until the process ends. A forked child has none of them and gets a new crew.
Crew &the_crew() {
  static std::mutex lock;
  static Crew *crew = nullptr;
  static long owner = 0;
  std::lock_guard guard(lock);
  if (!crew || owner != process()) {
    crew = new Crew();
    owner = process();
  }
  return *crew;
}

} // namespace

void Crew::run(int count, const std::function<void(int)> &work) {
  if (count == 1)
    return work(0);
  the_crew().run_here(count, work);
}

void Crew::run_here(int count, const std::function<void(int)> &work) {
  std::unique_lock mine(busy, std::try_to_lock);
  if (mine)
    grow(count - 1);
  if (!mine || hands == 0) {
    for (int k = 0; k < count; ++k)
      work(k);
    return;
  }
  job = &work;
  job_count = count;
  waiting_for.store(hands, std::memory_order_relaxed);
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
  work(0);
  for (int k = hands + 1; k < count; ++k) // more parts than hands
    work(k);
  for (int left; (left = waiting_for.load(std::memory_order_acquire)) > 0;)
    wait_while(waiting_for, left);
}

void Crew::grow(int wanted) {
  try {
    for (; hands < wanted; ++hands)
      std::thread(&Crew::serve, this, hands + 1, round.load()).detach();
  } catch (const std::system_error &) {
    // work with those that there are
  }
}

void Crew::serve(int number, unsigned seen) {
  for (;;) {
    wait_while(round, seen);
    seen = round.load(std::memory_order_acquire);
    if (number < job_count)
      (*job)(number);
    if (waiting_for.fetch_sub(1, std::memory_order_acq_rel) == 1)
      waiting_for.notify_all();
  }
}

} // namespace dalembert::bind
