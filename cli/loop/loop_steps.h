// The steps of `optimize`: verbs, each as a process of its own, and commands of the application.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "core/base/json_member.h"
#include "core/base/process.h"

namespace kernelift::cli {

struct Step {
  int exit_code = 0;
  Json document;  ///< The verb's JSON; null if it printed none.
  std::string message() const {
    std::string error = text_member(document, "error");
    return !error.empty() ? error : "it exited with " + std::to_string(exit_code);
  }
};

/// EXPECTS: an InterruptGuard exists. An interruption ends the running step, which saves its state.
class LoopSteps {
 public:
  LoopSteps(const Context& context, std::filesystem::path state) : context_(context), state_(std::move(state)) {}

  /// Runs `kernelift VERB --json …`; its progress appears on this process's stderr.
  Result<Step> step(const std::vector<std::string>& words, const std::vector<std::string>& command = {});
  /// Runs a step that all later steps depend on; an Error if it fails.
  Result<Json> required(const std::vector<std::string>& words, const std::vector<std::string>& command = {});
  /// Runs a shell line of the application, for at most `limit` seconds.
  Result<ProcessOutcome> run_command(const std::string& what, const std::string& line, double limit);

  bool is_interrupted() const { return interrupted_; }
  static Error interrupted() { return {"interrupted", Exit::Interrupted}; }
  /// Seconds by verb; those of commands under "check".
  const std::map<std::string, double>& spent() const { return spent_; }
  /// Seconds of runs for proving a patch in the application: about as long as finding it took, or as twelve pairs of
  /// runs, or as the builds that it needs anyway.
  double proof_seconds(double tuning_seconds) const;
  static constexpr double kShortestProof = 20, kLongestProof = 120;

 private:
  const Context& context_;
  std::filesystem::path state_;
  std::map<std::string, double> spent_;
  bool interrupted_ = false;
};

}  // namespace kernelift::cli
