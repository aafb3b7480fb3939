// The models of a run, and the calls to them that are under way: in the background, within the run's limits, which all
// who ask share. Every call leaves a transcript (without the key), and what it took is kept.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"
#include "tuner/source/llm/model_budget.h"
#include "tuner/source/llm/price_table.h"
#include "tuner/source/llm/transcript_folder.h"

namespace kernelift::tuner {

using OpenModel = std::function<Result<std::unique_ptr<LanguageModel>>(const ModelSpec&, const ChatLimits&)>;

struct ModelCallOptions : ModelLimits {
  std::vector<ModelSpec> specs;  ///< At least one.
  OpenModel open = open_model;   ///< Tests have models of their own.
  ChatLimits limits;
  std::filesystem::path transcripts;  ///< Folder; created when it is first needed.
  std::optional<PriceTable> prices;
  KeptState state;  ///< "llm": what was used.
};

/// A call that is over.
struct AnsweredCall {
  size_t model = 0;
  ModelRequest request;
  ModelReply reply;
  double seconds = 0;
  int64_t tokens = 0;
};

class ModelCalls {
 public:
  /// An Error if a model cannot be opened or has no price.
  static Result<std::shared_ptr<ModelCalls>> open(ModelCallOptions options);
  /// Ends the calls that nobody took; what they used counts.
  ~ModelCalls();
  ModelCalls(const ModelCalls&) = delete;
  ModelCalls& operator=(const ModelCalls&) = delete;

  size_t count() const { return models_.size(); }
  const ModelSpec& spec(size_t model) const { return models_[model].spec; }
  /// By which a run knows the model: where it is, and its name.
  const std::string& key(size_t model) const { return models_[model].key; }
  /// It may be called now.
  bool is_free(size_t model) const;
  bool gave_up(size_t model) const { return models_[model].gave_up; }
  bool all_gave_up() const;
  /// The model is not called any more.
  void give_up_on(size_t model) { models_[model].gave_up = true; }
  /// Calls that may be under way at a time, of all models that are still called.
  size_t parallelism() const;
  /// What the model was asked next when it was recorded; nullopt: nothing, or a call is under way.
  std::optional<RecordedRequest> next_recorded(size_t model) const;
  /// The model can be asked such a thing.
  bool answers(size_t model, const std::string& kind) const { return models_[model].model->answers(kind); }

  /// Begins a call, under a number of its own. `about`: what its transcript says beside the exchange. EXPECTS:
  /// is_free(model).
  int64_t begin(size_t model, ModelRequest request, Json about);
  /// The call if it is over, once; a sentence in `notes` if its transcript could not be kept.
  std::optional<AnsweredCall> take(int64_t call, std::vector<std::string>& notes);
  /// Asks all calls to end at once; the call when it has.
  AnsweredCall end(int64_t call, std::vector<std::string>& notes);
  bool is_stopped() const { return stop_; }

  /// With the time of calls under way.
  ModelUse used() const;
  const ModelLimits& limits() const { return options_; }
  int64_t begun() const { return spent_.calls; }
  /// ModelUse::exhausted() of now.
  std::string exhausted() const { return used().exhausted(options_); }
  /// Another request is within the limit, also if those under way have to be repeated.
  bool may_call() const { return spent_.calls + reserved_ < options_.most_calls; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked {
    ModelSpec spec;
    std::string key;
    std::unique_ptr<LanguageModel> model;
    ModelPrice price = {};
    size_t calling = 0;
    bool gave_up = false;
  };
  struct Finished {
    ModelRequest request;
    ModelReply reply;
    double seconds = 0;
    Status kept;  ///< Of its transcript.
  };
  struct Calling {
    size_t model = 0;
    int reserved = 0;  ///< Requests that it might make beside the first.
    std::future<Finished> finished;
  };

  ModelCalls(ModelCallOptions options, std::vector<Asked> models);
  /// Called by the calls themselves: the loop does not wait for the disk, nor for answers of megabytes to be spelled.
  Status keep_transcript(const Finished& finished, const ModelSpec& spec, const Json& about);
  AnsweredCall count(std::map<int64_t, Calling>::iterator call, std::vector<std::string>& notes);

  ModelCallOptions options_;
  std::vector<Asked> models_;
  std::mutex keeping_;
  TranscriptFolder transcripts_;
  ModelUse spent_;  ///< Without the seconds of calls under way.
  std::atomic<bool> stop_ = false;
  std::map<int64_t, Calling> calling_;
  int64_t reserved_ = 0;             ///< Of all of them.
  int64_t last_ = 0;                 ///< Number of the last call.
  Clock::time_point calling_since_;  ///< When the first of them was begun.
};

}  // namespace kernelift::tuner
