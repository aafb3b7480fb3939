// Recorded trials of a whole tuning space, for running searchers against: Kernel Tuner's cachefile and the T4 results
// format, plain or gzipped. Failed configurations stay in, as failures.
#pragma once
#include <filesystem>
#include <vector>

#include "tuner/search/searcher.h"

namespace kernelift::tuner {

struct Trials {
  std::string device, kernel;            ///< Empty where the format does not say.
  Space space;                           ///< Exactly the recorded configurations.
  std::map<Point, Observation> results;  ///< Costs in the file's unit of time; the best of equal rows.
  size_t failures = 0;
  double optimum = 0;  ///< Lowest cost.
};

Result<Trials> read_trials(const std::filesystem::path& file);
/// The same from text, for tests; `where` names it in errors.
Result<Trials> parse_trials(std::string_view text, const std::string& where);

}  // namespace kernelift::tuner
