// What is asked before every step of long work whether to stop.
#pragma once

namespace dalembert {

struct Stop {
  bool (*asked)(void *self) = nullptr;
  void *self = nullptr;
  bool operator()() const { return asked && asked(self); }
};

} // namespace dalembert
