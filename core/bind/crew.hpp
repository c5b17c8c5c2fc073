// Threads that wait between batches, so that a batch does not pay for starting them.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace dalembert::bind {

class Crew {
public:
  // runs work(0) ... work(count - 1), work(0) in the calling thread; returns when all are done.
  // A second caller while the crew is busy, or a lack of threads, makes it run them one after the other.
  static void run(int count, const std::function<void(int)> &work);

private:
  void grow(int hands);
  void serve(int number, unsigned seen);
  void run_here(int count, const std::function<void(int)> &work);

  std::mutex busy;
  int hands = 0;                                    // threads that serve
  std::atomic<unsigned> round{0};                   // a new value is a call to work
  std::atomic<int> waiting_for{0};                  // hands still at work
  const std::function<void(int)> *job = nullptr;
  int job_count = 0;
};

} // namespace dalembert::bind
