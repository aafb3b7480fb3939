// See line_buffer.h.
#include "cli/mcp/protocol/line_buffer.h"

#include <utility>

namespace kernelift::cli::mcp {

std::optional<LineBuffer::Line> LineBuffer::next() {
  const size_t end = pending_.find('\n', searched_);
  if (end == pending_.npos) {
    searched_ = pending_.size();
    if (dropping_ || pending_.size() > most_) dropping_ = true, pending_.clear(), searched_ = 0;
    return std::nullopt;
  }
  Line line;
  line.too_long = std::exchange(dropping_, false) || end > most_;
  if (!line.too_long) line.text = pending_.substr(0, end);
  if (line.text.ends_with('\r')) line.text.pop_back();
  pending_.erase(0, end + 1), searched_ = 0;
  return line;
}

}  // namespace kernelift::cli::mcp
