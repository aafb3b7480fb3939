// The tools and resources that the server offers, over the application that it was started for. Long steps are verbs of
// Kernelift in processes of their own; candidates go to the evaluator that stays up.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "cli/mcp/application.h"
#include "cli/mcp/documents.h"
#include "cli/mcp/jobs.h"
#include "cli/mcp/judge.h"
#include "cli/mcp/protocol/session.h"

namespace kernelift::cli::mcp {

struct ToolboxOptions {
  std::string device = "auto";  ///< For every verb.
  bool allow_weak_jail = false;
  std::chrono::seconds idle{300};  ///< How long an evaluator without work stays up.
  std::string build, run, check;   ///< The application's commands, the user's: without `build`, nothing is applied.
  std::string time;                ///< `apply --time`; empty: its default.
  std::vector<std::string> repositories = {};  ///< `apply --repo`.
};

class Toolbox : public Host {
 public:
  Toolbox(EventLoop& loop, Application application, ToolboxOptions options);
  std::vector<ToolDescription> tools() const override;
  void call(const std::string& tool, const CallPointer& call) override;
  Json resources() override;
  Result<std::string> resource(const std::string& uri) override;
  std::string instructions() const override;

 private:
  // Reading; toolbox.cpp.
  void doctor(const CallPointer& call);
  void hot_list(const CallPointer& call);
  void extract(const CallPointer& call);
  void facts(const CallPointer& call);
  void profile(const CallPointer& call);
  /// The device has hardware counters.
  bool has_counters() const;
  /// What measures now, as a sentence: two at once would disturb each other. Empty: nothing does.
  std::string measuring() const;
  // Judging; judging_tools.cpp.
  void judge(const std::string& tool, Depth depth, const CallPointer& call);
  // Jobs; job_tools.cpp.
  void tune(const CallPointer& call);
  void apply(const CallPointer& call);
  void status(const CallPointer& call);
  void cancel(const CallPointer& call);
  void start_job(const CallPointer& call, const std::string& verb, const std::string& subject,
                 std::vector<std::string> words);
  Json state_of(const Job& job) const;

  void answer(const CallPointer& call, const std::string& tool, const Json& members) {
    call->answer(documents_.answer(tool, members));
  }
  /// The words of a verb with the options that all verbs have.
  std::vector<std::string> verb(const std::string& name, const std::vector<std::string>& options = {}) const;
  /// Runs a verb for a call; `done` gets its document and what it said on stderr, `failed` the error that it ends with,
  /// which without it is the call's.
  using Done = std::function<void(const Json& document, const std::string& said)>;
  using Failed = std::function<void(const std::string& error)>;
  void run(const CallPointer& call, const std::vector<std::string>& words, Done done, Failed failed = {});
  /// Why nothing can be measured now: a job does. Empty: it can.
  std::string occupied() const;

  EventLoop& loop_;
  const Application application_;
  const ToolboxOptions options_;
  Documents documents_;
  Judge judge_;
  Jobs jobs_;
  struct Running {
    std::unique_ptr<Child> child;
    bool measures = false;
  };
  std::map<uint64_t, Running> running_;  ///< Verbs of calls.
  uint64_t last_run_ = 0;
};

}  // namespace kernelift::cli::mcp
