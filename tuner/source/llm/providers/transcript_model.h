// Recorded answers as a model: those of a run's transcripts. A prompt that was recorded gets its own answer, however
// often it is asked; any other gets the next one that is left, in order, if there is one of a request of the same kind.
#pragma once
#include <filesystem>
#include <map>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"

namespace kernelift::tuner {

class TranscriptModel : public LanguageModel {
 public:
  /// `path`: a run's folder of transcripts, or a file with one or more of them, one JSON document after the other. An
  /// Error if there is no answer in it.
  static Result<std::unique_ptr<LanguageModel>> open(const std::filesystem::path& path);
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;
  std::optional<RecordedRequest> next_recorded() const override;

 private:
  struct Recorded {
    Hash prompt;
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
