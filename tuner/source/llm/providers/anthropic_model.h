// The wire format of Anthropic's /v1/messages.
#pragma once
#include "tuner/source/llm/providers/chat_model.h"

namespace kernelift::tuner {

class AnthropicModel : public ChatModel {
 public:
  static Result<std::unique_ptr<LanguageModel>> open(const ModelSpec& spec, const ChatLimits& limits);

 private:
  using ChatModel::ChatModel;
  std::vector<std::string> headers() const override;
  Json body(const ModelRequest& request, const Form& form) const override;
  ChatAnswer read(const Json& reply) const override;
  void read_event(const Json& event, StreamedAnswer& into) const override;
};

}  // namespace kernelift::tuner
