// See call.h.
#include "cli/mcp/protocol/call.h"

#include <algorithm>
#include <utility>

#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::cli::mcp {

Call::Call(Json arguments, std::function<Json(const ToolAnswer&)> render, Finish finish, Progress progress)
    : arguments(std::move(arguments)),
      render_(std::move(render)),
      finish_(std::move(finish)),
      progress_(std::move(progress)) {}

void Call::answer(const ToolAnswer& answer) {
  if (std::exchange(over_, true)) return;
  end(render_(answer));
}

void Call::fail(const std::string& sentence) {
  if (std::exchange(over_, true)) return;
  const std::string shown = shown_lines(without_secrets(sentence), kLongestLine, kLongestAnswer - 64);
  end({{"content", Json::array({{{"type", "text"}, {"text", shown}}})}, {"isError", true}});
}

void Call::end(Json result) {
  on_cancel = {}, progress_ = {};
  const Finish finish = std::exchange(finish_, {});  // It may be the last but the caller's to know this call.
  finish(std::move(result));
}

void Call::progress(const std::string& message, std::optional<double> done, std::optional<double> total) {
  if (over_ || !progress_) return;
  constexpr double kLeast = 1e-3;  // The protocol wants it to increase.
  done_ = std::max(done.value_or(done_ + 1), done_ + kLeast);
  progress_(done_, total, shown_line(without_secrets(message)));
}

void Call::cancel() {
  if (std::exchange(over_, true)) return;
  finish_ = {}, progress_ = {};
  if (auto stop = std::exchange(on_cancel, {})) stop();
}

}  // namespace kernelift::cli::mcp
