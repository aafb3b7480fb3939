// Verbs that take minutes: they run beside the conversation, one at a time because they measure, and a client asks how
// they are doing.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "cli/mcp/child.h"
#include "core/base/json.h"

namespace kernelift::cli::mcp {

struct Job {
  enum class State { Running, Done, Failed, Cancelled };
  size_t number = 0;
  std::string verb, subject;  ///< "tune", and what it works on.
  State state = State::Running;
  EventLoop::Clock::time_point begun, ended;
  std::deque<std::string> notes;  ///< What it said last.
  std::string output;             ///< Its stdout: a document.
  Json result;                    ///< That document, once it has ended.
  std::string error;              ///< A sentence, of State::Failed.
  bool cancelling = false;
  double seconds() const;
};
const char* name(Job::State);

class Jobs {
 public:
  explicit Jobs(EventLoop& loop) : loop_(loop) {}
  ~Jobs();
  /// EXPECTS: running() is null.
  Result<const Job*> start(const std::string& verb, const std::string& subject, const std::vector<std::string>& words);
  const Job* running() const;
  const Job* find(size_t number) const;
  const std::map<size_t, Job>& all() const { return jobs_; }
  /// Asks a running job to end soon with what it has; one that does not is ended.
  void cancel(size_t number);
  /// Calls `then` once, as soon as the job is over or `seconds` have passed.
  void when_over(size_t number, double seconds, std::function<void()> then);

 private:
  void ended(Job& job, int exit_code);

  EventLoop& loop_;
  std::map<size_t, Job> jobs_;
  std::unique_ptr<Child> child_;  ///< Of the job that is running.
  uint64_t ending_ = 0;           ///< The timer that ends one that was cancelled.
  struct Waiting {
    size_t job;
    uint64_t timer;
    std::function<void()> then;
  };
  std::map<uint64_t, Waiting> waiting_;
  uint64_t last_waiting_ = 0;
};

}  // namespace kernelift::cli::mcp
