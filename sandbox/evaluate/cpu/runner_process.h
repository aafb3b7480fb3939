// A Runner in a process of its own, and the handle that the rest of the program has on it. Everything about a candidate
// crosses as bytes; verdicts come back as the JSON that the run database keeps. While the runner times something it
// asks for quiet, and the other side's answer is the go-ahead.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "sandbox/evaluate/cpu/runner.h"
#include "sandbox/jail/nursery.h"

namespace kernelift {

class RunnerProcess {
 public:
  /// A nursery whose workers are runners of this MEP. The MEP is copied into it: no file is read again but data/.
  static Result<std::unique_ptr<Nursery>> nursery(const Mep& mep, const std::filesystem::path& folder,
                                                  const RunnerSettings& settings);

  /// Starts a fresh runner and lets it learn the original. An Error if the memory cannot be placed, or the process
  /// dies.
  static Result<std::unique_ptr<RunnerProcess>> start(Nursery& nursery, const TrialCode& baseline,
                                                      const Roundings& roundings, RunnerVoice voice,
                                                      BaselineReport& report, std::optional<Deadline> deadline = {});
  /// Whatever happens is in the verdict; `alive()` afterwards says whether this process can go on. nullopt: its time
  /// was over before there was one.
  std::optional<Evaluation> evaluate(const TrialCode& candidate, const Inquiry& inquiry);
  bool alive() const { return worker_.alive(); }

 private:
  RunnerProcess(Worker worker, RunnerVoice voice) : worker_(std::move(worker)), voice_(std::move(voice)) {}
  Result<std::string> ask(uint32_t request, const TrialCode& code, const Roundings& roundings, const Inquiry& inquiry);
  Worker worker_;
  RunnerVoice voice_;
};

}  // namespace kernelift
