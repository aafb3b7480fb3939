// See anthropic_model.h.
#include "tuner/source/llm/providers/anthropic_model.h"

#include <algorithm>

#include "core/base/json_member.h"

namespace kernelift::tuner {
namespace {

void add_tool(const Json& part, ChatAnswer& into) {
  if (text_member(part, "type") == "tool_use") into.called_tool = text_member(part, "name");
}

/// `reply`: what has "stop_reason".
void add_stop(const Json& reply, ChatAnswer& into) {
  const std::string ended = text_member(reply, "stop_reason");
  into.cut_off = ended == "max_tokens" || ended == "model_context_window_exceeded";
  into.refused = ended == "refusal";
  if (!ended.empty() && ended != "end_turn" && ended != "stop_sequence" && ended != "tool_use" && !into.cut_off &&
      !into.refused)
    into.remark = remark_on_end(ended);
}

void add_tokens(const Json& reply, ChatAnswer& into) {
  auto usage = reply.find("usage");
  if (usage == reply.end() || !usage->is_object()) return;
  int64_t input = 0;
  // Cached tokens are counted separately.
  for (auto* kind : {"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})
    input += reported_tokens(*usage, kind);
  // A stream reports them at its beginning, and some or all of them again at its end.
  into.input_tokens = std::max(into.input_tokens, input);
  into.output_tokens = std::max(into.output_tokens, reported_tokens(*usage, "output_tokens"));
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> AnthropicModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  KERNELIFT_ASSIGN(ModelKey key, model_key(spec));
  return std::unique_ptr<LanguageModel>(new AnthropicModel(spec, limits, std::move(key)));
}

std::vector<std::string> AnthropicModel::headers() const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:", "anthropic-version: 2023-06-01"};
  if (!key_.value.empty()) headers.push_back("x-api-key: " + key_.value);
  return headers;
}

Json AnthropicModel::body(const ModelRequest& request, const Form& form) const {
  return {{"system", request.system}, {"messages", turns_of(request)}, {"max_tokens", form.output_tokens}};
}

ChatAnswer AnthropicModel::read(const Json& reply) const {
  ChatAnswer read;
  auto& content = reply.at("content");
  read.text = text_of_parts(content);
  if (content.is_array())
    for (auto& part : content) add_tool(part, read);
  add_stop(reply, read);
  add_tokens(reply, read);
  return read;
}

void AnthropicModel::read_event(const Json& event, StreamedAnswer& into) const {
  const std::string type = text_member(event, "type");
  if (type == "message_start") add_tokens(event.at("message"), into.answer);
  if (type == "content_block_start") {
    const Json& block = event.at("content_block");
    add_tool(block, into.answer);
    if (text_member(block, "type") == "text") into.answer.text += text_member(block, "text");
  }
  if (type == "content_block_delta") {
    const Json& delta = event.at("delta");
    if (text_member(delta, "type") == "text_delta") into.answer.text += delta.at("text").get<std::string>();
  }
  if (type == "message_delta") {
    const Json& delta = event.at("delta");
    add_tokens(event, into.answer);
    if (into.ended |= !text_member(delta, "stop_reason").empty(); into.ended) add_stop(delta, into.answer);
  }
  into.last = type == "message_stop";
}

}  // namespace kernelift::tuner
