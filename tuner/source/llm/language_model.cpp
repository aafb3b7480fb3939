// See language_model.h.
#include "tuner/source/llm/language_model.h"

#include "core/base/shown/secrets.h"
#include "tuner/source/llm/providers/anthropic_model.h"
#include "tuner/source/llm/providers/command_model.h"
#include "tuner/source/llm/providers/exchange_model.h"
#include "tuner/source/llm/providers/openai_model.h"
#include "tuner/source/llm/providers/responses_model.h"
#include "tuner/source/llm/providers/transcript_model.h"

namespace kernelift::tuner {

Result<std::unique_ptr<LanguageModel>> open_model(const ModelSpec& spec, const ChatLimits& limits) {
  switch (spec.provider) {
    case ModelSpec::Provider::OpenAi: return OpenAiModel::open(spec, limits);
    case ModelSpec::Provider::Responses: return ResponsesModel::open(spec, limits);
    case ModelSpec::Provider::Anthropic: return AnthropicModel::open(spec, limits);
    case ModelSpec::Provider::Command: return CommandModel::open(spec.target);
    case ModelSpec::Provider::Exchange: return ExchangeModel::open(spec.target);
    default: return TranscriptModel::open(spec.target);
  }
}

std::string one_text(const ModelRequest& request) {
  std::string text = request.system;
  for (auto& message : request.messages) {
    if (!text.empty() && text.back() != '\n') text += "\n";
    text += message.from_model ? "\n==== Your earlier answer ====\n" : "\n==== Task ====\n";
    text += message.text;
  }
  if (!text.empty() && text.back() != '\n') text += "\n";
  return without_secrets(std::move(text));
}

std::string without_thoughts(std::string text) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (size_t close = text.rfind(kClose); close != text.npos) return text.substr(close + kClose.size());
  if (size_t first = text.find_first_not_of(" \t\r\n");
      first != text.npos && text.compare(first, kOpen.size(), kOpen) == 0)
    return "";
  return text;
}

int64_t estimated_tokens(size_t characters) {
  constexpr size_t kCharactersPerToken = 4;
  return static_cast<int64_t>(characters / kCharactersPerToken);
}

ChatAnswer plain_answer(const ModelRequest& request, std::string text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  ChatAnswer answer;
  answer.input_tokens = estimated_tokens(one_text(request).size());
  answer.output_tokens = estimated_tokens(text.size());
  answer.text = without_thoughts(without_secrets(std::move(text)));
  return answer;
}

}  // namespace kernelift::tuner
