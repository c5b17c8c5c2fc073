// A control loop around a model file: a spring and a damper, computed here every millisecond, hold its first output at
// zero by its first input. control_arm machine.dalm [end, s]
#include "dalembert.hpp"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

int main(int count, char **arguments) {
  try {
    std::ifstream file(count > 1 ? arguments[1] : "machine.dalm", std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    const dal::Model model(std::as_bytes(std::span(bytes)));
    const dal::Quantity angle{DAL_OUTPUT, 0}, effort{DAL_INPUT, 0};
    const double end = count > 2 ? std::atof(arguments[2]) : 1.0, period = 1e-3;
    dal::Run run(model);
    run.start(dal_start_time(model.get()));
    double before = run[angle];
    for (int k = 1; k <= int(end / period + 0.5); ++k) {
      const double now = run[angle], rate = (now - before) / period;
      before = now;
      run.set(effort, -40.0 * now - 4.0 * rate);
      run.advance(dal_start_time(model.get()) + k * period);
    }
    std::printf("%.17g %.17g\n", run.time(), run[angle]);
    return 0;
  } catch (const dal::Error &error) {
    std::fprintf(stderr, "%s (code %d)\n", error.what(), error.code);
    return 1;
  }
}
