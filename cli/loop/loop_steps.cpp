// A step's own state is in its artefacts; what it says for the loop is its JSON document.
#include "cli/loop/loop_steps.h"

#include <algorithm>
#include <chrono>

#include "core/base/executable.h"
#include "reintegrate/interruption.h"

namespace kernelift::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestOutput = 256 << 20;

/// Adds the seconds of its lifetime to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  double& sum_;
  Clock::time_point began_ = Clock::now();
};

}  // namespace

Result<Step> LoopSteps::step(const std::vector<std::string>& words, const std::vector<std::string>& command) {
  context_.note("");
  context_.note("==> kernelift " + join_command(words) + (command.empty() ? "" : " -- " + join_command(command)));
  Stopwatch watch(spent_[words[0]]);
  KERNELIFT_ASSIGN(std::filesystem::path kernelift, executable());
  std::vector<std::string> argv{kernelift.string()};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.insert(argv.end(), {"--json", "--state", state_.string()});
  if (!command.empty()) argv.emplace_back("--");
  argv.insert(argv.end(), command.begin(), command.end());
  ProcessOptions process;
  process.share_stderr = true;
  process.output_limit = kLongestOutput;
  KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(argv, process, reintegrate::Ending::HandedOn));
  Step result{outcome.exit_code, nullptr};
  interrupted_ |=
      outcome.exit_code == static_cast<int>(Exit::Interrupted) || reintegrate::InterruptGuard::interrupted();
  if (auto document = parse_json(outcome.out, words[0]); document.ok()) result.document = *std::move(document);
  if (outcome.signal && !interrupted_) return environment_error("kernelift " + words[0] + " " + outcome.describe());
  return result;
}

Result<Json> LoopSteps::required(const std::vector<std::string>& words, const std::vector<std::string>& command) {
  KERNELIFT_ASSIGN(Step done_step, step(words, command));
  if (interrupted_) return interrupted();
  if (done_step.exit_code != 0)  // The step has printed the reason on stderr; only the JSON document repeats it.
    return Error{words[0] + " failed" + (context_.json ? ": " + done_step.message() : " (see above)"),
                 static_cast<Exit>(done_step.exit_code)};
  return std::move(done_step.document);
}

Result<ProcessOutcome> LoopSteps::run_command(const std::string& what, const std::string& line, double limit) {
  context_.note("");
  context_.note("==> " + what + ": " + line);
  ProcessOptions process;
  process.timeout = std::chrono::milliseconds(static_cast<int64_t>(1000 * limit));
  Stopwatch watch(spent_["check"]);
  process.output_limit = kLongestOutput;
  KERNELIFT_ASSIGN(ProcessOutcome ran, run_interruptibly({"sh", "-c", line}, process, reintegrate::Ending::Killed));
  if (reintegrate::InterruptGuard::interrupted()) return interrupted();
  return ran;
}

double LoopSteps::proof_seconds(double tuning_seconds) const {
  constexpr double kRuns = 24;   // Six pairs decide only if each of them shows a gain.
  constexpr double kBuilds = 3;  // `apply` builds as often.
  auto spent = [&](const char* verb) {
    auto found = spent_.find(verb);
    return found == spent_.end() ? 0 : found->second;
  };
  return std::clamp(std::max(tuning_seconds + kShortestProof, kRuns * spent("check")), kShortestProof,
                    std::max(kLongestProof, kBuilds * spent("build")));
}

}  // namespace kernelift::cli
