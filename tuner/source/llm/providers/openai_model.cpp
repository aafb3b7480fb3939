// See openai_model.h.
#include "tuner/source/llm/providers/openai_model.h"

#include <algorithm>

#include "core/base/json_member.h"

namespace kernelift::tuner {
namespace {

/// What a choice holds; `member`: "message" of a reply, or "delta", a piece of it.
void add_choice(const Json& choice, const char* member, ChatAnswer& into) {
  if (auto message = choice.find(member); message != choice.end() && message->is_object()) {
    // Absent or null if the model reasoned until it was cut off.
    if (auto content = message->find("content"); content != message->end()) into.text += text_of_parts(*content);
    if (std::string why = text_member(*message, "refusal"); !why.empty()) {
      if (!into.refused) into.text.clear();
      into.text += why, into.refused = true;
    }
    if (auto calls = message->find("tool_calls"); calls != message->end() && calls->is_array() && !calls->empty()) {
      const Json& function = calls->front().value("function", Json::object());
      if (into.called_tool.empty()) into.called_tool = function.is_object() ? text_member(function, "name") : "";
      if (into.called_tool.empty()) into.called_tool = "(unnamed)";
    }
  }
  const std::string ended = text_member(choice, "finish_reason");
  into.cut_off |= ended == "length";
  into.refused |= ended == "content_filter";
  if (!ended.empty() && ended != "stop" && ended != "tool_calls" && ended != "function_call" && !into.cut_off &&
      !into.refused)
    into.remark = remark_on_end(ended);
}

void add_usage(const Json& reply, ChatAnswer& into) {
  auto usage = reply.find("usage");
  if (usage == reply.end() || !usage->is_object()) return;
  // Some servers report them again and again while they stream.
  into.input_tokens = std::max(into.input_tokens, reported_tokens(*usage, "prompt_tokens"));
  into.output_tokens = std::max(into.output_tokens, reported_tokens(*usage, "completion_tokens"));
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> OpenAiModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  KERNELIFT_ASSIGN(ModelKey key, model_key(spec));
  return std::unique_ptr<LanguageModel>(new OpenAiModel(spec, limits, std::move(key)));
}

std::vector<std::string> OpenAiModel::headers() const {
  std::vector<std::string> headers{"Content-Type: application/json", "Expect:"};
  if (!key_.value.empty()) headers.push_back("Authorization: Bearer " + key_.value);
  return headers;
}

Json OpenAiModel::body(const ModelRequest& request, const Form& form) const {
  Json messages = turns_of(request);
  messages.insert(messages.begin(), Json{{"role", "system"}, {"content", request.system}});
  Json body{{"messages", messages}, {form.new_name ? "max_completion_tokens" : "max_tokens", form.output_tokens}};
  if (form.stream && form.counts_stream) body["stream_options"] = {{"include_usage", true}};
  return body;
}

ChatAnswer OpenAiModel::read(const Json& reply) const {
  ChatAnswer read;
  add_usage(reply, read);
  auto& choices = reply.at("choices");
  if (choices.empty()) {
    read.remark = "the server's reply had no choices, so there is no answer in it";
    return read;
  }
  choices.at(0).at("message");  // Throws.
  add_choice(choices.at(0), "message", read);
  return read;
}

void OpenAiModel::read_event(const Json& event, StreamedAnswer& into) const {
  add_usage(event, into.answer);
  auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array() || choices->empty()) return;  // Tokens alone.
  add_choice(choices->front(), "delta", into.answer);
  into.ended |= !text_member(choices->front(), "finish_reason").empty();
}

}  // namespace kernelift::tuner
