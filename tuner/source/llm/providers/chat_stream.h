// An answer that comes in pieces, as a stream of events: it is put together as they come, and what is wrong with the
// stream becomes one sentence.
#pragma once
#include <functional>
#include <string>

#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"
#include "tuner/source/llm/providers/event_reader.h"
#include "tuner/source/llm/providers/http.h"

namespace kernelift::tuner {

struct StreamedAnswer {
  ChatAnswer answer;   ///< As far as it has come.
  bool ended = false;  ///< The server said why it ended: it is whole, and only its tokens may still be reported.
  bool last = false;   ///< Nothing follows.
  Json error = {};     ///< What the server says went wrong; null: nothing did.
};

class ChatStream : public HttpStream {
 public:
  /// Puts an event's JSON object into the answer; may throw as nlohmann's functions do.
  using TakeEvent = std::function<void(const Json& event, StreamedAnswer& into)>;
  ChatStream(TakeEvent take_event, const ChatLimits& limits) : take_event_(std::move(take_event)), limits_(limits) {}

  bool take(std::string_view bytes) override;
  double patience() const override { return came_.answer.text.empty() ? limits_.first_seconds : limits_.stall_seconds; }
  /// More than a reply may be; the rest was not read.
  bool too_large() const { return too_large_ || reader_.too_large(); }
  bool ended() const { return came_.ended; }
  /// Of the answer, as far as it has come.
  size_t bytes() const { return came_.answer.text.size(); }
  /// When no more comes. What came is an answer only if the server said that it ended.
  Result<ChatAnswer> answer();

 private:
  bool take(const ServerEvent& event);

  TakeEvent take_event_;
  ChatLimits limits_;
  EventReader reader_;
  StreamedAnswer came_;
  size_t received_ = 0;
  bool too_large_ = false;
  std::string trouble_;  ///< What is wrong with the stream; or empty.
};

}  // namespace kernelift::tuner
