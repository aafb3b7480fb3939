// See openai_model.h.
#include "tuner/source/llm/providers/openai_model.h"

#include "core/base/json_member.h"

namespace kernelift::tuner {

Result<std::unique_ptr<LanguageModel>> OpenAiModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  KERNELIFT_ASSIGN(std::string key, key_of(spec));
  return std::unique_ptr<LanguageModel>(new OpenAiModel(spec, limits, std::move(key)));
}

std::vector<std::string> OpenAiModel::headers() const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:"};
  if (!key_.empty()) headers.push_back("Authorization: Bearer " + key_);
  return headers;
}

Json OpenAiModel::body(const ModelRequest& request) const {
  Json messages = Json::array({{{"role", "system"}, {"content", request.system}}});
  for (auto& message : request.messages)
    messages.push_back({{"role", message.from_model ? "assistant" : "user"}, {"content", message.text}});
  return {{"messages", messages}};
}

ChatAnswer OpenAiModel::read(const Json& reply) const {
  ChatAnswer read;
  auto& choices = reply.at("choices");
  if (choices.empty()) {
    read.remark = "the server's reply had no choices, so there is no answer in it";
    return read;
  }
  auto& choice = choices.at(0);
  auto& message = choice.at("message");
  // Absent or null if the model reasoned until it was cut off.
  if (auto content = message.find("content"); content != message.end()) read.text = text_of_parts(*content);
  if (std::string why = text_member(message, "refusal"); !why.empty()) read.text = why, read.refused = true;
  if (auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array() && !calls->empty()) {
    const Json& function = calls->front().value("function", Json::object());
    read.called_tool = function.is_object() ? text_member(function, "name") : "";
    if (read.called_tool.empty()) read.called_tool = "(unnamed)";
  }
  const std::string ended = text_member(choice, "finish_reason");
  read.cut_off = ended == "length";
  read.refused |= ended == "content_filter";
  if (!ended.empty() && ended != "stop" && ended != "tool_calls" && ended != "function_call" && !read.cut_off &&
      !read.refused)
    read.remark = "the server says that the answer ended by '" + ended.substr(0, 40) + "'; it is read as a whole one";
  if (auto usage = reply.find("usage"); usage != reply.end() && usage->is_object()) {
    read.input_tokens = reported_tokens(*usage, "prompt_tokens");
    read.output_tokens = reported_tokens(*usage, "completion_tokens");
  }
  return read;
}

}  // namespace kernelift::tuner
