// See chat_stream.h.
#include "tuner/source/llm/providers/chat_stream.h"

#include "core/base/json_member.h"
#include "tuner/source/llm/providers/server_reply.h"

namespace kernelift::tuner {
namespace {

/// Bytes of a stream: each token may come in an event of its own, of some 300 bytes.
constexpr size_t kLargestStream = 32 * kLargestReply;

}  // namespace

bool ChatStream::take(std::string_view bytes) {
  received_ += bytes.size();
  too_large_ = received_ > kLargestStream;
  return !too_large_ && reader_.take(bytes, [this](const ServerEvent& event) { return take(event); });
}

bool ChatStream::take(const ServerEvent& event) {
  if (event.data == "[DONE]") {
    came_.ended |= !came_.answer.text.empty();  // Some servers say no more than that.
    return false;
  }
  auto json = parse_foreign_json(event.data, "");
  const bool is_object = json.ok() && json->is_object();
  if (event.name == "error" || (is_object && (reports_error(*json) || text_member(*json, "type") == "error"))) {
    trouble_ = "the server answered " + server_words(event.data);
    return false;
  }
  if (!is_object) {
    trouble_ = "an event of the stream is not a complete JSON object";
    return false;
  }
  auto taken = reading("the stream", [&] {
    take_event_(*json, came_);
    return true;
  });
  if (!taken.ok()) trouble_ = "an event of the stream is not in the expected form";
  else if (!came_.error.is_null()) trouble_ = "the server answered " + server_words(compact(came_.error));
  too_large_ = came_.answer.text.size() > kLargestReply;
  return trouble_.empty() && !came_.last && !too_large_;
}

Result<ChatAnswer> ChatStream::answer() {
  // Of a last event without a blank line behind it, some may be missing.
  auto take_whole = [this](const ServerEvent& event) {
    return (event.data == "[DONE]" || Json::accept(event.data)) && take(event);
  };
  if (!came_.ended && trouble_.empty()) reader_.end(take_whole);
  if (came_.ended) return came_.answer;
  if (!trouble_.empty()) return environment_error(trouble_);
  return environment_error("half a reply: the stream broke off before the answer ended");
}

}  // namespace kernelift::tuner
