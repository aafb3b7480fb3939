// A call of a tool, from its request to its answer. It may be answered at once or much later, and at most once; what is
// said after the client has cancelled it, or is gone, goes nowhere.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace kernelift::cli::mcp {

/// What a tool answers: a document of at most kLongestAnswer bytes, and where the rest of it can be read.
struct ToolAnswer {
  Json document;
  std::string resource = {};  ///< URI of the whole; empty: this is the whole.
};

/// Bytes of the text of an answer.
inline constexpr size_t kLongestAnswer = 4096;

class Call {
 public:
  using Finish = std::function<void(Json result)>;
  using Progress = std::function<void(double done, std::optional<double> total, const std::string& message)>;
  /// `render` makes an answer the result that the client's version of the protocol has; `progress` is empty where the
  /// client has not asked for any.
  Call(Json arguments, std::function<Json(const ToolAnswer&)> render, Finish finish, Progress progress);

  const Json arguments;  ///< They fit the tool's schema.

  void answer(const ToolAnswer& answer);
  /// With a sentence for the model: what went wrong, and what to do about it.
  void fail(const std::string& sentence);
  /// `done` of `total` steps; without them, each call is one more step.
  void progress(const std::string& message, std::optional<double> done = {}, std::optional<double> total = {});
  bool over() const { return over_; }

  /// The client no longer wants an answer: ends the work.
  void cancel();
  /// What cancel() does, for a tool that goes on after it has been called.
  std::function<void()> on_cancel;

 private:
  void end(Json result);

  std::function<Json(const ToolAnswer&)> render_;
  Finish finish_;  ///< This and the next are let go of once the call is over.
  Progress progress_;
  double done_ = 0;
  bool over_ = false;
};
using CallPointer = std::shared_ptr<Call>;

}  // namespace kernelift::cli::mcp
