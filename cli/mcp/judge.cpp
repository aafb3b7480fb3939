// See judge.h.
#include "cli/mcp/judge.h"

#include <algorithm>

#include "core/base/json_member.h"

namespace kernelift::cli::mcp {
namespace {

/// The sentence of the document with which a verb ends that failed; empty if this is none.
std::string error_in(const std::string& text) {
  auto json = parse_json(text, "");
  return json.ok() && json->is_object() ? text_member(*json, "error") : "";
}

}  // namespace

uint64_t Judge::ask(JudgeRequest request) {
  waiting_.push_back({++last_number_, std::move(request)});
  go_on();
  return last_number_;
}

void Judge::withdraw(uint64_t number) {
  auto found = std::ranges::find(waiting_, number, &Waiting::number);
  if (found == waiting_.end()) return;
  const bool first = found == waiting_.begin();
  waiting_.erase(found);
  if (first) give_back();
  go_on();
}

void Judge::give_back() {
  Child::end(std::move(child_));
  ready_ = false;
}

void Judge::go_on() {
  loop_.drop(std::exchange(idle_timer_, 0));
  if (waiting_.empty()) {
    if (child_) idle_timer_ = loop_.at(EventLoop::Clock::now() + idle_, [this] { give_back(); });
    return;
  }
  Waiting& first = waiting_.front();
  if (first.sent) return;
  if (child_ && (mep_ != first.request.mep || mep_hash_ != first.request.mep_hash)) give_back();
  if (!child_) {
    std::vector<std::string> words{"evaluate", "--stream", "--keep", "--json"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.insert(words.end(), {"--", first.request.mep.string()});
    Child::Handlers handlers;
    handlers.out = [this](const std::string& line) { heard(line); };
    handlers.note = [this](const std::string& line) {
      last_note_ = line;
      if (!waiting_.empty() && waiting_.front().request.note) waiting_.front().request.note(line);
    };
    handlers.ended = [this](int exit_code) { ended(exit_code); };
    mep_ = first.request.mep, mep_hash_ = first.request.mep_hash, unread_.clear(), last_note_.clear();
    auto started = Child::start(loop_, words, std::move(handlers));
    if (!started.ok()) return finish(started.error().message);
    child_ = *std::move(started);
    if (first.request.note) first.request.note("the evaluator starts: it compiles and measures the original");
    return;
  }
  if (!ready_) return;
  first.sent = true;
  // If it does not read any more it has ended, which the loop will notice.
  (void)child_->write(compact({{"depth", name(first.request.depth)}, {"candidates", first.request.candidates}}) + "\n");
}

void Judge::heard(const std::string& line) {
  auto json = line.starts_with('{') ? parse_json(line, "") : Result<Json>(environment_error(""));
  if (!json.ok()) {  // A document of several lines: the error with which it ends.
    unread_ += line + "\n";
    return;
  }
  if (json->contains("ready_seconds")) {
    ready_ = true;
    return go_on();
  }
  if (waiting_.empty() || !waiting_.front().sent) return;
  if (std::string error = text_member(*json, "error"); !error.empty()) return finish(error);
  Waiting& first = waiting_.front();
  first.request.judged(first.judged++, *json);
  if (first.judged == first.request.candidates.size()) finish("");
}

void Judge::ended(int exit_code) {
  const auto gone = std::move(child_);  // Called by it: it lives until the end of this.
  ready_ = false;
  std::string error = error_in(unread_);
  if (error.empty())
    error = "the evaluator ended with exit code " + std::to_string(exit_code) +
            (last_note_.empty() ? "" : ": " + last_note_);
  if (!waiting_.empty()) finish(error);
  else go_on();
}

void Judge::finish(const std::string& error) {
  Waiting done = std::move(waiting_.front());
  waiting_.pop_front();
  done.request.over(error);
  go_on();
}

}  // namespace kernelift::cli::mcp
