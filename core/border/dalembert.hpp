// Models of dalembert in C++: the functions of dalembert.h with owners and exceptions.
//
//     const dal::Model model(bytes);
//     dal::Run run(model);
//     const auto motor = model.input("motor.u"), angle = model.output("A.position");
//     run.start();
//     while (run.time() < 1.0) {
//       run.set(motor, 0.3);
//       run.advance(run.time() + 0.01);
//       std::printf("%g\n", run[angle]);
//     }
#pragma once

#include "dalembert.h"
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dal {

struct Error : std::runtime_error {
  Error(int code, const std::string &message) : std::runtime_error(message), code(code) {}
  int code;
};

// A quantity of a model: its kind and its number.
struct Quantity {
  dal_kind kind;
  std::int64_t index;
};

class Model {
public:
  explicit Model(std::span<const std::byte> bytes) {
    char text[256];
    dal_model *made = nullptr;
    if (const int code = dal_open(bytes.data(), bytes.size(), &made, text, sizeof text))
      throw Error(code, text);
    held.reset(made, dal_close);
  }

  Quantity find(dal_kind kind, const std::string &name) const {
    const std::int64_t index = dal_find(held.get(), kind, name.c_str());
    if (index < 0)
      throw Error(DAL_BAD_NAME, "the model has no '" + name + "' of this kind");
    return {kind, index};
  }
  Quantity input(const std::string &name) const { return find(DAL_INPUT, name); }
  Quantity output(const std::string &name) const { return find(DAL_OUTPUT, name); }
  Quantity parameter(const std::string &name) const { return find(DAL_PARAMETER, name); }
  std::vector<std::string> names(dal_kind kind) const {
    std::vector<std::string> all;
    for (std::int64_t k = 0; k < dal_count(held.get(), kind); ++k)
      all.emplace_back(dal_name(held.get(), kind, k));
    return all;
  }
  dal_model *get() const { return held.get(); }

private:
  std::shared_ptr<dal_model> held;
};

class Run {
public:
  explicit Run(const Model &model, const dal_options *options = nullptr) {
    dal_run *made = nullptr;
    if (const int code = dal_run_new(model.get(), options, &made))
      throw Error(code, "the run cannot be made with these options");
    held.reset(made);
  }

  void start(double t = 0.0) { check(dal_start(get(), t)); }
  void reset() { check(dal_reset(get())); }
  // false: the number of steps of the options was taken before the time
  bool advance(double until) { return check(dal_advance(get(), until)) == DAL_OK; }
  double time() const { return dal_time(get()); }
  void set(Quantity what, double value) { check(dal_set(get(), what.kind, what.index, value)); }
  double operator[](Quantity what) {
    double value = std::nan("");
    check(dal_get(get(), what.kind, what.index, &value));
    return value;
  }
  void read(dal_kind kind, std::span<double> values) { check(dal_read(get(), kind, values.data())); }
  std::vector<std::byte> state() const {
    std::vector<std::byte> bytes(dal_state_bytes(get()));
    check(dal_state_get(get(), bytes.data(), bytes.size()));
    return bytes;
  }
  void set_state(std::span<const std::byte> bytes) { check(dal_state_set(get(), bytes.data(), bytes.size())); }
  dal_run *get() const { return held.get(); }

private:
  struct Free {
    void operator()(dal_run *run) const { dal_run_free(run); }
  };
  std::unique_ptr<dal_run, Free> held;

  int check(int code) const {
    if (code < 0)
      throw Error(code, dal_message(get()));
    return code;
  }
};

} // namespace dal
