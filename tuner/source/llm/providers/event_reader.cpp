// See event_reader.h.
#include "tuner/source/llm/providers/event_reader.h"

#include <utility>

#include "tuner/source/llm/providers/http.h"

namespace kernelift::tuner {

bool EventReader::take(std::string_view bytes, const Told& told) {
  while (!bytes.empty()) {
    // A line ends by CR, LF or both.
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    too_large_ = line_.size() + event_.data.size() > kLargestReply;
    if (too_large_) return false;
    if (end == bytes.npos) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!line_ended(told)) return false;
  }
  return true;
}

void EventReader::end(const Told& told) {
  if (line_.empty() || line_ended(told)) line_ended(told);
}

bool EventReader::line_ended(const Told& told) {
  const std::string line = std::exchange(line_, {});
  std::string_view text = line;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (std::exchange(first_line_, false) && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.empty()) {
    const ServerEvent event = std::exchange(event_, {});
    return !std::exchange(has_data_, false) || told(event);
  }
  const size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  // A line without a field's name is a comment, by which servers keep a connection open.
  if (field == "event") event_.name = value;
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value, has_data_ = true;
  }
  return true;
}

}  // namespace kernelift::tuner
