// Recorded answers as a model: those of a run's transcripts. A prompt that was recorded gets its own answer, however
// often it is asked; any other gets the next one that is left, in order, if there is one of a request of the same kind.
// Answers alone, kept without prompts, are given in order, too, as changes of the original.
#pragma once
#include <filesystem>
#include <optional>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"

namespace kernelift::tuner {

class TranscriptModel : public LanguageModel {
 public:
  /// `path`: a run's folder of transcripts; a folder of answers alone, NAME.answer.md, which are given in the order of
  /// their names; or a file with one answer, or one or more transcripts, one JSON document after the other. An Error if
  /// there is no answer in it.
  static Result<std::unique_ptr<LanguageModel>> open(const std::filesystem::path& path);
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;
  bool answers(const std::string& kind) const override;
  std::optional<RecordedRequest> next_recorded() const override;
  std::string given() const override;
  void go_on_from(const std::string& given) override;

 private:
  struct Recorded {
    std::optional<Hash> prompt;  ///< None: an answer alone.
    RecordedRequest request;
    std::optional<double> seconds;
    std::string error;  ///< The call failed so; or empty.
    ChatAnswer answer;
    bool used = false;
  };
  Status add(const Json& transcript, const std::string& where);

  std::vector<Recorded> recorded_;
};

/// An exchange as it is kept: what open() reads.
Json transcript_json(const ModelRequest& request, const Result<ChatAnswer>& answer);

}  // namespace kernelift::tuner
