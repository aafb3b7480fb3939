// See answer_record.h.
#include "tuner/source/llm/answer_record.h"

#include "core/base/json.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kKey = "llm/answers";
constexpr size_t kRemembered = 50;
constexpr int kTrusted = 3;        ///< Useless answers in a row after which a model is doubtful.
constexpr size_t kFirstPause = 8;  ///< Trials before a doubtful model is asked again; doubled by each useless answer.
constexpr int kMostDoublings = 20;

}  // namespace

AnswerRecord AnswerRecord::read(const KeptState& state) {
  auto known = state.known.find(kKey);
  const Json kept = known == state.known.end() ? Json() : Json::parse(known->second, nullptr, false);
  auto record = reading(kKey, [&] {
    AnswerRecord record;
    record.unusable = kept.at("unusable").get<std::vector<std::string>>(), record.barren = kept.at("barren");
    for (auto& [model, streak] : kept.at("streaks").items())
      record.streaks[model] = {streak.at("repeats"), streak.at("unusable"), streak.value("useless", 0),
                               streak.value("since", size_t{0})};
    return record;
  });
  return record.ok() ? *std::move(record) : AnswerRecord();
}

void AnswerRecord::keep(const KeptState& state) const {
  Json models = Json::object();
  for (auto& [model, streak] : streaks)
    models[model] = {{"repeats", streak.repeats},
                     {"unusable", streak.unusable},
                     {"useless", streak.useless},
                     {"since", streak.since}};
  state.put(kKey, compact({{"unusable", unusable}, {"barren", barren}, {"streaks", models}}));
}

void AnswerRecord::add_unusable(std::string what) {
  unusable.push_back(std::move(what));
  if (unusable.size() > kRemembered) unusable.erase(unusable.begin());
}

void AnswerRecord::add_useless(const std::string& model, int weight, size_t trials) {
  Streak& streak = streaks[model];
  streak.useless += weight, streak.since = trials;
}

bool AnswerRecord::is_doubtful(const std::string& model) const {
  auto found = streaks.find(model);
  return found != streaks.end() && found->second.useless >= kTrusted;
}

bool AnswerRecord::rests(const std::string& model, size_t trials) const {
  if (!is_doubtful(model)) return false;
  const Streak& streak = streaks.at(model);
  return trials < streak.since + (kFirstPause << std::min(streak.useless - kTrusted, kMostDoublings));
}

}  // namespace kernelift::tuner
