// See start_proposer.h.
#include "tuner/source/llm/start/start_proposer.h"

#include <cstdio>

#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "tuner/source/llm/idea_prompt.h"
#include "tuner/source/llm/prompt.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kKind = "start";
constexpr size_t kShownStart = 160;

std::string space_text(const MepSpace& space) {
  std::string text;
  for (auto& parameter : space.space().parameters()) {
    text += "- " + parameter.name + " in {";
    for (size_t i = 0; i < parameter.values.size(); ++i) text += (i ? ", " : "") + parameter.label(i);
    text += "}, now " + parameter.label(parameter.start) + "\n";
  }
  for (auto& constraint : space.constraints()) text += "- only where " + constraint.text() + "\n";
  return text;
}

}  // namespace

StartProposer::StartProposer(const Mep& mep, LlmOptions options, std::shared_ptr<ModelCalls> calls, Take take)
    : mep_(mep), options_(std::move(options)), calls_(std::move(calls)), take_(std::move(take)) {}

StartProposer::~StartProposer() {
  if (call_) calls_->end(*call_, notes_);
}

void StartProposer::begin(const History& history) {
  begun_ = true;
  const RunTrial& original = *history.baseline();
  space_ = MepSpace::create(mep_, original.candidate);
  if (space_->space().count() < 2) return;
  if (auto known = options_.state.known.find(kStartState); known != options_.state.known.end()) {
    const Json kept = Json::parse(known->second, nullptr, false);
    if (!kept.is_object()) return;
    model_ = text_member(kept, "model");
    if (auto points = StartingPoints::read(space_->space(), known->second); points.ok()) hand_over(*points);
    return;
  }
  for (size_t model = 0; model < calls_->count(); ++model) {
    if (!calls_->is_free(model) || !calls_->answers(model, kKind) || !calls_->may_call()) continue;
    PromptSubject subject{mep_, history, original, options_.profile, options_.tolerance, {}};
    subject.inputs = options_.inputs, subject.limits = options_.device_limits;
    auto values = prompt_facts(subject, options_.prompt_characters);
    values["space"] = as_data(space_text(*space_)), values["count"] = std::to_string(kMostStartingPoints);
    auto system = system_prompt(options_.prompts, mep_);
    auto prompt = fill_prompt(options_.prompts, kKind, values);
    if (!system.ok() || !prompt.ok()) return notes_.push_back((system.ok() ? prompt.error() : system.error()).message);
    model_ = calls_->spec(model).model;
    keep();
    call_ = calls_->begin(model, {kKind, *std::move(system), {{false, *std::move(prompt)}}}, Json::object());
    return;
  }
}

void StartProposer::take_answer(const AnsweredCall& answered) {
  auto& answer = answered.reply.answer;
  if (!answer.ok() || answer->refused) {
    if (!calls_->is_stopped())
      notes_.push_back("no starting configurations: " +
                       (answer.ok() ? "the model refused to answer" : answer.error().message));
    return;
  }
  auto read = StartingPoints::read(space_->space(), answer->text);
  if (!read.ok()) return notes_.push_back("no starting configurations: " + read.error().message);
  rejected_ = read->rejected;
  for (auto& why : rejected_) notes_.push_back("not begun with: " + shown_line(why, kShownStart));
  hand_over(*read);
}

void StartProposer::hand_over(const StartingPoints& points) {
  if (points.points.empty()) return keep();
  ProposedStart start{model_, {}, points.as_run(space_->space(), "what " + model_ + " proposed")};
  for (auto& point : points.points) {
    start.configurations.push_back(space_->space().bindings(point));
    waiting_.insert(space_->materialise(point).key());
  }
  proposed_ = start.configurations;
  notes_.push_back(model_ + " proposed " + counted(proposed_.size(), "configuration") + " to begin with");
  keep();
  take_(start);
}

void StartProposer::keep() const {
  Json list = Json::array();
  for (auto& values : proposed_) {
    Json one = Json::object();
    for (auto& [name, value] : values) one[name] = value;
    list.push_back(one);
  }
  options_.state.put(kStartState, Json{{"model", model_},
                                       {"configurations", list},
                                       {"rejected", rejected_},
                                       {"tried", tried_},
                                       {"right", right_},
                                       {"faster", faster_},
                                       {"best", best_}}
                                      .dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::vector<Proposal> StartProposer::propose(const History& history, size_t) {
  if (!begun_ && history.baseline()) begin(history);
  if (!call_) return {};
  if (auto answered = calls_->take(*call_, notes_)) {
    call_.reset();
    take_answer(*answered);
  }
  return {};
}

void StartProposer::learn(const RunTrial& trial) {
  if (waiting_.erase(trial.candidate.key()) == 0) return;
  ++tried_;
  if (trial.verdict.ok()) {
    ++right_, faster_ += trial.verdict.gains();
    best_ = std::max(best_, trial.verdict.speedup_low());
  }
  keep();
}

std::string StartProposer::closing_note() const {
  if (proposed_.empty()) return !call_ ? "" : "the model had not answered yet which configurations to begin with";
  char best[48] = "";
  if (faster_) std::snprintf(best, sizeof best, ", the fastest at least %.3fx", best_);
  return "of " + counted(proposed_.size(), "configuration") + " that " + model_ + " proposed to begin with " +
         std::to_string(tried_) + " " + (tried_ == 1 ? "was" : "were") + " tried, " + std::to_string(right_) +
         " right and " + std::to_string(faster_) + " faster" + best;
}

}  // namespace kernelift::tuner
