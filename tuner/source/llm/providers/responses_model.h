// The wire format of OpenAI's /v1/responses.
#pragma once
#include "tuner/source/llm/providers/openai_model.h"

namespace kernelift::tuner {

class ResponsesModel : public OpenAiModel {
 public:
  static Result<std::unique_ptr<LanguageModel>> open(const ModelSpec& spec, const ChatLimits& limits);

 private:
  using OpenAiModel::OpenAiModel;
  Json body(const ModelRequest& request, const Form& form) const override;
  ChatAnswer read(const Json& reply) const override;
  void read_event(const Json& event, StreamedAnswer& into) const override;
};

}  // namespace kernelift::tuner
