// Server-sent events (text/event-stream), read from pieces that may end anywhere: in a line, a character, a line break.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace kernelift::tuner {

struct ServerEvent {
  std::string name;  ///< Of its line `event:`; or empty.
  std::string data;  ///< Its lines `data:`, joined by line breaks.
};

class EventReader {
 public:
  /// What is told of each event that has data; false: no more is wanted.
  using Told = std::function<bool(const ServerEvent&)>;

  /// false: `told` wants no more, or an event is larger than `most` bytes.
  bool take(std::string_view bytes, const Told& told);
  /// The stream has ended: tells of an event that no blank line follows.
  void end(const Told& told);
  bool too_large() const { return too_large_; }

 private:
  bool line_ended(const Told& told);

  std::string line_;
  ServerEvent event_;
  bool has_data_ = false, after_return_ = false, first_line_ = true, too_large_ = false;
};

}  // namespace kernelift::tuner
