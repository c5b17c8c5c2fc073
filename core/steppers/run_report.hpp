// Parts of a report under the conditions of a run.
#pragma once

#include "steppers/run_workspace.hpp"
#include "system/report.hpp"

namespace dalembert::DALEMBERT_ISA {

inline std::size_t report_bytes(const ModelData &m) {
  ReportWorkspace work;
  return lay_out(m, nullptr, work);
}

// memory: `report_bytes` of it. False if a callback has failed.
inline bool evaluate_report(const RunContext &i, std::byte *memory, double t, const double *q, const double *v,
                            const double *x, const Report &out) {
  ReportWorkspace work;
  lay_out(i.m, memory, work);
  ++i.run.counts.evaluations;
  return report(i.m, i.run.conditions, work, {i.run.interval.clamp(t), q, v, x}, out);
}

} // namespace dalembert::DALEMBERT_ISA
