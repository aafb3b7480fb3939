// See anthropic_model.h.
#include "tuner/source/llm/providers/anthropic_model.h"

#include "core/base/json_member.h"

namespace kernelift::tuner {

Result<std::unique_ptr<LanguageModel>> AnthropicModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  KERNELIFT_ASSIGN(std::string key, key_of(spec));
  return std::unique_ptr<LanguageModel>(new AnthropicModel(spec, limits, std::move(key)));
}

std::vector<std::string> AnthropicModel::headers() const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:", "anthropic-version: 2023-06-01"};
  if (!key_.empty()) headers.push_back("x-api-key: " + key_);
  return headers;
}

Json AnthropicModel::body(const ModelRequest& request) const {
  Json messages = Json::array();
  for (auto& message : request.messages)
    messages.push_back({{"role", message.from_model ? "assistant" : "user"}, {"content", message.text}});
  return {{"system", request.system}, {"messages", messages}};
}

ChatAnswer AnthropicModel::read(const Json& reply) const {
  ChatAnswer read;
  auto& content = reply.at("content");
  read.text = text_of_parts(content);
  if (content.is_array())
    for (auto& part : content)
      if (text_member(part, "type") == "tool_use") read.called_tool = text_member(part, "name");
  const std::string ended = text_member(reply, "stop_reason");
  read.cut_off = ended == "max_tokens" || ended == "model_context_window_exceeded";
  read.refused = ended == "refusal";
  if (!ended.empty() && ended != "end_turn" && ended != "stop_sequence" && ended != "tool_use" && !read.cut_off &&
      !read.refused)
    read.remark = "the server says that the answer ended by '" + ended.substr(0, 40) + "'; it is read as a whole one";
  if (auto usage = reply.find("usage"); usage != reply.end() && usage->is_object()) {
    // Cached tokens are counted separately.
    for (auto* kind : {"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})
      read.input_tokens += reported_tokens(*usage, kind);
    read.output_tokens = reported_tokens(*usage, "output_tokens");
  }
  return read;
}

}  // namespace kernelift::tuner
