// The process in which the suite's candidates are judged: this program once more, on a terminal and with a home, a
// working folder and keys of its own, so that what a candidate reaches can be told. It can be lost and started again.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/jail/channel.h"

namespace kernelift::cli {

struct JudgeSettings {
  std::filesystem::path meps;  ///< One folder per kernel.
  std::string device = "cpu";
  bool quick = false;            ///< Few samples.
  bool allow_weak_jail = false;  ///< EvaluatorOptions::allow_weak_jail.
};

/// What became of a candidate.
struct Judged {
  Evaluation evaluation = NotJudged{};
  bool confirmed = false;  ///< The evaluation is that of a confirmation.
  std::string lost;        ///< The process ended or did not answer; how. Empty: it did.
  std::string terminal;    ///< All that was written to the terminal meanwhile.
};

class JudgingProcess {
 public:
  JudgingProcess(JudgeSettings settings, std::filesystem::path home, std::filesystem::path work, std::string key)
      : settings_(std::move(settings)), home_(std::move(home)), work_(std::move(work)), key_(std::move(key)) {}
  ~JudgingProcess() { stop(); }

  /// Starts the process if it does not run. An Error: it could not be started, or the kernel cannot be judged here.
  Result<Judged> judge(const std::string& kernel, const Candidate& candidate, std::chrono::seconds limit);
  /// Ends the process; returns processes that outlive it: "PID (NAME)".
  std::vector<std::string> stop();
  /// What was written to the terminal while it ended.
  const std::string& last_words() const { return last_words_; }

 private:
  Status start();
  void drain(std::string& terminal);
  JudgeSettings settings_;
  std::filesystem::path home_, work_;
  std::string key_, last_words_;
  sandbox::Descriptor terminal_;
  sandbox::Channel channel_;
  pid_t process_ = -1;
};

/// The other side: answers until the channel closes. `fd` is inherited.
Exit judge_for(int fd, const JudgeSettings& settings);

}  // namespace kernelift::cli
