// See jobs.h.
#include "cli/mcp/jobs.h"

#include <algorithm>

#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kMostNotes = 12;
constexpr size_t kMostOutput = 64 << 20;
/// For a cancelled verb to store what it has; apply builds the unpatched application again.
constexpr std::chrono::seconds kToConclude{20}, kToRestore{900};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(1e3 * seconds));
}

}  // namespace

const char* name(Job::State state) {
  constexpr const char* kNames[] = {"running", "done", "failed", "cancelled"};
  return kNames[static_cast<size_t>(state)];
}

double Job::seconds() const {
  return std::chrono::duration<double>((state == State::Running ? EventLoop::Clock::now() : ended) - begun).count();
}

Jobs::~Jobs() { loop_.drop(ending_); }

Result<const Job*> Jobs::start(const std::string& verb, const std::string& subject,
                               const std::vector<std::string>& words) {
  const size_t number = jobs_.size() + 1;
  Job made;
  made.number = number, made.verb = verb, made.subject = subject, made.begun = EventLoop::Clock::now();
  Child::Handlers handlers;
  handlers.out = [this, number](const std::string& line) {
    if (Job& job = jobs_.at(number); job.output.size() < kMostOutput) job.output += line + "\n";
  };
  handlers.note = [this, number](const std::string& line) {
    Job& job = jobs_.at(number);
    job.notes.push_back(shown_line(line));
    if (job.notes.size() > kMostNotes) job.notes.pop_front();
  };
  handlers.ended = [this, number](int exit_code) { ended(jobs_.at(number), exit_code); };
  KERNELIFT_ASSIGN(child_, Child::start(loop_, words, std::move(handlers)));
  return &(jobs_[number] = std::move(made));
}

const Job* Jobs::running() const {
  auto found = std::ranges::find(jobs_, Job::State::Running, [](auto& job) { return job.second.state; });
  return found == jobs_.end() ? nullptr : &found->second;
}

const Job* Jobs::find(size_t number) const {
  auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

void Jobs::cancel(size_t number) {
  auto found = jobs_.find(number);
  if (found == jobs_.end() || found->second.state != Job::State::Running || found->second.cancelling) return;
  found->second.cancelling = true;
  child_->interrupt();
  const auto patience = found->second.verb == "apply" ? kToRestore : kToConclude;
  ending_ = loop_.at(EventLoop::Clock::now() + patience, [this, number] {
    child_.reset();
    ended(jobs_.at(number), -1);
  });
}

void Jobs::when_over(size_t number, double seconds, std::function<void()> then) {
  const Job* job = find(number);
  if (!job || job->state != Job::State::Running || seconds <= 0) return then();
  const uint64_t mine = ++last_waiting_;
  const uint64_t timer = loop_.at(EventLoop::Clock::now() + milliseconds(seconds), [this, mine] {
    auto call = std::move(waiting_.at(mine).then);
    waiting_.erase(mine);
    call();
  });
  waiting_[mine] = {number, timer, std::move(then)};
}

void Jobs::ended(Job& job, int exit_code) {
  const auto gone = std::move(child_);  // It lives until the end of this.
  loop_.drop(std::exchange(ending_, 0));
  job.ended = EventLoop::Clock::now();
  auto result = parse_json(job.output, "");
  job.output.clear();
  if (result.ok()) job.result = *std::move(result);
  // Exit code 1 says "no": an answer, too.
  const bool answered = (exit_code == 0 || exit_code == 1) && job.result.is_object() && !job.result.contains("error");
  job.state = job.cancelling ? Job::State::Cancelled : answered ? Job::State::Done : Job::State::Failed;
  if (job.state == Job::State::Failed) {
    job.error = job.result.is_object() ? text_member(job.result, "error") : "";
    if (job.error.empty())
      job.error = job.verb + " ended with exit code " + std::to_string(exit_code) +
                  (job.notes.empty() ? "" : ": " + job.notes.back());
    job.result = nullptr;
  }
  std::vector<std::function<void()>> calls;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->second.job != job.number) {
      ++at;
      continue;
    }
    loop_.drop(at->second.timer);
    calls.push_back(std::move(at->second.then));
    at = waiting_.erase(at);
  }
  for (auto& call : calls) call();
}

}  // namespace kernelift::cli::mcp
