// See answer_record.h.
#include "tuner/source/llm/answer_record.h"

#include "core/base/json.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kKey = "llm/answers";
constexpr size_t kRemembered = 50;

}  // namespace

AnswerRecord AnswerRecord::read(const KeptState& state) {
  auto known = state.known.find(kKey);
  const Json kept = known == state.known.end() ? Json() : Json::parse(known->second, nullptr, false);
  auto record = reading(kKey, [&] {
    AnswerRecord record;
    record.unusable = kept.at("unusable").get<std::vector<std::string>>(), record.barren = kept.at("barren");
    for (auto& [model, streak] : kept.at("streaks").items())
      record.streaks[model] = {streak.at("repeats"), streak.at("unusable")};
    return record;
  });
  return record.ok() ? *std::move(record) : AnswerRecord();
}

void AnswerRecord::keep(const KeptState& state) const {
  Json models = Json::object();
  for (auto& [model, streak] : streaks) models[model] = {{"repeats", streak.repeats}, {"unusable", streak.unusable}};
  state.put(kKey, Json{{"unusable", unusable}, {"barren", barren}, {"streaks", models}}.dump());
}

void AnswerRecord::add_unusable(std::string what) {
  unusable.push_back(std::move(what));
  if (unusable.size() > kRemembered) unusable.erase(unusable.begin());
}

}  // namespace kernelift::tuner
