// Bytes of a stream, cut into lines: the frames of the Model Context Protocol over stdio.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kernelift::cli::mcp {

class LineBuffer {
 public:
  struct Line {
    std::string text;       ///< Without its end; empty if it was too long.
    bool too_long = false;  ///< Its bytes were dropped as they came.
  };
  explicit LineBuffer(size_t most) : most_(most) {}
  void add(std::string_view bytes) { pending_ += bytes; }
  /// The next whole line. At most `most` bytes and one add() are held, however long a line is.
  std::optional<Line> next();
  /// What follows the last line's end.
  const std::string& rest() const { return pending_; }

 private:
  size_t most_;
  std::string pending_;
  size_t searched_ = 0;  ///< No line ends in these first bytes of pending_.
  bool dropping_ = false;
};

}  // namespace kernelift::cli::mcp
