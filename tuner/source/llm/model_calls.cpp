// See model_calls.h.
#include "tuner/source/llm/model_calls.h"

#include <algorithm>

#include "tuner/source/llm/providers/transcript_model.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kGiven = "model given ";  ///< Begins the keys of what each model's record has given.
constexpr int kAdaptations = 5;  ///< Requests that a call may take to find the form that a server accepts.

}  // namespace

Result<std::shared_ptr<ModelCalls>> ModelCalls::open(ModelCallOptions options) {
  KERNELIFT_ASSERT(!options.specs.empty(), "a model is named");
  std::vector<Asked> models;
  for (auto& spec : options.specs) {
    KERNELIFT_ASSIGN(auto model, options.open(spec, options.limits));
    models.push_back({spec, spec.shown() + "," + spec.model, std::move(model)});
    if (!options.prices) continue;
    KERNELIFT_ASSIGN(models.back().price, options.prices->price(spec));
  }
  return std::shared_ptr<ModelCalls>(new ModelCalls(std::move(options), std::move(models)));
}

ModelCalls::ModelCalls(ModelCallOptions options, std::vector<Asked> models)
    : options_(std::move(options)), models_(std::move(models)), transcripts_(options_.transcripts) {
  spent_ = ModelUse::read(options_.state);
  for (auto& asked : models_)
    if (auto given = options_.state.known.find(kGiven + asked.key); given != options_.state.known.end())
      asked.model->go_on_from(given->second);
  if (options_.prices) spent_.currency = options_.prices->currency();
}

ModelCalls::~ModelCalls() {
  std::vector<std::string> notes;
  while (!calling_.empty()) end(calling_.begin()->first, notes);
}

bool ModelCalls::is_free(size_t model) const {
  return !models_[model].gave_up && models_[model].calling < models_[model].model->parallelism();
}

bool ModelCalls::all_gave_up() const { return std::ranges::all_of(models_, &Asked::gave_up); }

size_t ModelCalls::parallelism() const {
  size_t sum = 0;
  for (auto& asked : models_)
    if (!asked.gave_up) sum += asked.model->parallelism();
  return sum;
}

std::optional<RecordedRequest> ModelCalls::next_recorded(size_t model) const {
  return models_[model].calling == 0 ? models_[model].model->next_recorded() : std::nullopt;
}

int64_t ModelCalls::begin(size_t model, ModelRequest request, Json about) {
  Asked& asked = models_[model];
  KERNELIFT_ASSERT(is_free(model), "the model may be called");
  ++spent_.calls;
  used().keep(options_.state);
  const int64_t others = options_.most_calls - spent_.calls - reserved_;
  const auto reserved = static_cast<int>(std::clamp<int64_t>(others, 0, options_.limits.attempts - 1 + kAdaptations));
  const CallLimits limits{1 + reserved, options_.most_seconds - used().seconds};
  if (calling_.empty()) calling_since_ = Clock::now();
  reserved_ += reserved, ++asked.calling;
  auto ask = [this, &asked, request = std::move(request), about = std::move(about), limits]() mutable {
    auto begin = Clock::now();
    ModelReply reply = asked.model->ask(request, limits, stop_);
    const double seconds = reply.seconds.value_or(std::chrono::duration<double>(Clock::now() - begin).count());
    Finished finished{std::move(request), std::move(reply), seconds, done()};
    finished.kept = keep_transcript(finished, asked.spec, about);
    return finished;
  };
  calling_.emplace(++last_, Calling{model, reserved, std::async(std::launch::async, std::move(ask))});
  return last_;
}

std::optional<AnsweredCall> ModelCalls::take(int64_t call, std::vector<std::string>& notes) {
  auto found = calling_.find(call);
  KERNELIFT_ASSERT(found != calling_.end(), "the call is under way");
  if (found->second.finished.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  return count(found, notes);
}

AnsweredCall ModelCalls::end(int64_t call, std::vector<std::string>& notes) {
  stop_ = true;
  auto found = calling_.find(call);
  KERNELIFT_ASSERT(found != calling_.end(), "the call is under way");
  return count(found, notes);
}

AnsweredCall ModelCalls::count(std::map<int64_t, Calling>::iterator call, std::vector<std::string>& notes) {
  Calling& calling = call->second;
  Finished finished = calling.finished.get();
  AnsweredCall answered{calling.model, std::move(finished.request), std::move(finished.reply), finished.seconds};
  Asked& asked = models_[calling.model];
  if (calling_.size() == 1) spent_ = used();
  spent_.calls += answered.reply.requests - 1;  // One was counted when the call began.
  reserved_ -= calling.reserved;
  asked.calling -= 1;
  if (auto& answer = answered.reply.answer; answer.ok()) {
    answered.tokens = answer->input_tokens + answer->output_tokens;
    spent_.money += asked.price.of(answer->input_tokens, answer->output_tokens);
  }
  spent_.tokens += answered.tokens;
  if (!finished.kept.ok()) notes.push_back("a transcript could not be kept: " + finished.kept.error().message);
  if (asked.calling == 0)
    if (const std::string given = asked.model->given(); !given.empty()) options_.state.put(kGiven + asked.key, given);
  calling_.erase(call);
  used().keep(options_.state);
  return answered;
}

Status ModelCalls::keep_transcript(const Finished& finished, const ModelSpec& spec, const Json& about) {
  Json transcript = transcript_json(finished.request, finished.reply.answer);
  transcript["model"] = spec.model, transcript["url"] = spec.shown();
  transcript["seconds"] = finished.seconds, transcript["requests"] = finished.reply.requests;
  transcript.update(about);
  std::lock_guard hold(keeping_);
  return transcripts_.keep(finished.request.kind, transcript);
}

ModelUse ModelCalls::used() const {
  ModelUse use = spent_;
  if (!calling_.empty()) use.seconds += std::chrono::duration<double>(Clock::now() - calling_since_).count();
  return use;
}

}  // namespace kernelift::tuner
