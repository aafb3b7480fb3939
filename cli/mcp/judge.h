// The evaluator that stays up: one process (`kernelift evaluate --stream`) judges the candidates of one MEP. It is
// started for the first candidate, answers the next ones without compiling and measuring the original again, and is
// given back when it has been idle for a while, or when another MEP is asked for.
#pragma once
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "cli/judging/candidate_stream.h"
#include "cli/mcp/child.h"

namespace kernelift::cli::mcp {

struct JudgeRequest {
  std::filesystem::path mep;
  std::string mep_hash;  ///< Of its content, by which a MEP that was extracted anew is another one.
  Depth depth = Depth::Screen;
  Json candidates;                                               ///< A list, as candidate_from_json() reads them.
  std::function<void(const std::string&)> note;                  ///< What the evaluator says while it works.
  std::function<void(size_t index, const Json& answer)> judged;  ///< In the order of the candidates.
  std::function<void(const std::string& error)> over;            ///< The last call. Empty: all were judged.
};

class Judge {
 public:
  /// `options` are those of `kernelift evaluate`, such as --device; `idle`: how long it is kept without a request.
  Judge(EventLoop& loop, std::vector<std::string> options, std::chrono::seconds idle)
      : loop_(loop), options_(std::move(options)), idle_(idle) {}
  /// Requests are answered one after the other. Returns a number for withdraw().
  uint64_t ask(JudgeRequest request);
  /// Its callbacks are not called any more. One that is being answered ends the process, and the others get a new one.
  void withdraw(uint64_t number);
  bool busy() const { return !waiting_.empty(); }
  bool up() const { return child_ != nullptr; }
  /// Ends the process; its time or memory is needed elsewhere. EXPECTS: !busy().
  void give_back();

 private:
  struct Waiting {
    uint64_t number = 0;
    JudgeRequest request;
    size_t judged = 0;
    bool sent = false;
  };
  void go_on();  ///< Starts the process, or sends the first request, if that can be done now.
  void heard(const std::string& line);
  void ended(int exit_code);
  void finish(const std::string& error);

  EventLoop& loop_;
  const std::vector<std::string> options_;
  const std::chrono::seconds idle_;
  std::unique_ptr<Child> child_;
  std::filesystem::path mep_;  ///< Of child_.
  std::string mep_hash_;
  bool ready_ = false;  ///< It has measured the original.
  std::string unread_, last_note_;
  std::deque<Waiting> waiting_;  ///< The first is being answered.
  uint64_t last_number_ = 0, idle_timer_ = 0;
};

}  // namespace kernelift::cli::mcp
