// A program as a model: it gets the prompt on its stdin and prints the answer on its stdout. It runs as the user's own
// program, outside the jail, and is ended when its time is over or the run ends.
#pragma once
#include "tuner/source/llm/language_model.h"

namespace kernelift::tuner {

class CommandModel : public LanguageModel {
 public:
  /// `command`: words as a shell splits them; an Error if its program is not there.
  static Result<std::unique_ptr<LanguageModel>> open(const std::string& command);
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;

 private:
  explicit CommandModel(std::vector<std::string> words) : words_(std::move(words)) {}
  std::vector<std::string> words_;
};

}  // namespace kernelift::tuner
