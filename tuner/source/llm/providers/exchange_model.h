// A folder as a model: a prompt is written there as NUMBER.prompt.md, and NUMBER.answer.md is read when it appears, in
// any order. A prompt that is in the folder already keeps its number, so that a later run finds the answer. So does one
// about the same text whose answer nobody has taken: NUMBER.asked holds what it was about, and is NUMBER.taken then.
#pragma once
#include <filesystem>
#include <mutex>

#include "tuner/source/llm/language_model.h"

namespace kernelift::tuner {

class ExchangeModel : public LanguageModel {
 public:
  /// Makes the folder if it is not there.
  static Result<std::unique_ptr<LanguageModel>> open(const std::filesystem::path& folder);
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;
  size_t parallelism() const override { return 3; }

 private:
  explicit ExchangeModel(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// The number of this prompt, which is in the folder from then on, or of one before with an answer for it.
  Result<int> offer(const ModelRequest& request);
  std::filesystem::path file(int number, const char* ending) const;

  std::filesystem::path folder_;
  std::mutex numbering_;
};

}  // namespace kernelift::tuner
