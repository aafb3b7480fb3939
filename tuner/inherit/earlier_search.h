// Earlier runs of a kernel, from which a new one begins: on other GPUs, at other sizes, before an edit.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/search/prior.h"
#include "tuner/store/run.h"

namespace kernelift::tuner {

struct EarlierSearch {
  std::filesystem::path file;
  std::string device;            ///< On which its candidates ran.
  std::vector<RunTrial> trials;  ///< The original first.

  /// Its parameters and their values as something that a search over parameters can inherit. What was found with
  /// another compiler recipe is left out. Costs are relative to the original.
  EarlierRun parameters() const;
};

/// How soon a run came close to the best that it found.
struct FirstClose {
  size_t evaluations = 0;  ///< Candidates tried until then; 0: nothing gained.
  double seconds = 0;
  double best = 1;  ///< Speedup of the best, in the search.
};
inline constexpr double kClose = 0.02;  ///< Within 2 % of the best.
FirstClose first_close(const std::vector<RunTrial>& trials);

/// Reads a run. An Error if it cannot be read, or is of another kernel.
Result<EarlierSearch> read_earlier(const std::filesystem::path& file, const std::string& kernel);

/// The kernel's latest runs under `<state>/runs` on the same kind of device: the CPU device or GPUs, whose figures say
/// nothing about each other. Those that cannot be read are left out; `notes` gets a sentence for each of these.
std::vector<EarlierSearch> find_earlier(const std::filesystem::path& state, const std::string& kernel, bool on_cpu,
                                        std::vector<std::string>& notes);

/// Key of the run's state that holds what it inherited (docs/formats.md).
inline constexpr const char* kInheritedState = "inherited";

}  // namespace kernelift::tuner
