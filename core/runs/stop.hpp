// A stop request, polled before every step of a long call.
#pragma once

namespace dalembert {

struct Stop {
  bool (*asked)(void *self) = nullptr;
  void *self = nullptr;
  bool operator()() const { return asked && asked(self); }
};

} // namespace dalembert
