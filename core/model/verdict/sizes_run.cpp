// See sizes_run.h.
#include "core/model/verdict/sizes_run.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/words.h"

namespace kernelift {
namespace {

/// Each once, though several recorded launches ran at it; smaller ones first.
std::vector<OtherSize> distinct(const std::vector<OtherSize>& sizes) {
  std::set<std::pair<Bindings, std::string>> seen;
  for (auto& size : sizes) seen.insert({size.values, size.pointers});
  std::vector<OtherSize> all;
  for (auto& [values, pointers] : seen) all.push_back({{}, values, pointers});
  return all;
}

/// The argument that alone differs from launch to launch; nullptr: others do as well.
const std::string* only_argument(const std::vector<OtherSize>& sizes) {
  for (auto& size : sizes)
    if (size.values.size() != 1 || size.values.begin()->first != sizes.front().values.begin()->first) return nullptr;
  return sizes.empty() ? nullptr : &sizes.front().values.begin()->first;
}

Json json_of(const std::vector<OtherSize>& sizes) {
  Json json = Json::array();
  for (auto& size : sizes) json.push_back(to_json(size));
  return json;
}

std::vector<OtherSize> sizes_from_json(const Json& from) {
  std::vector<OtherSize> sizes;
  for (auto& size : from) sizes.push_back(other_size_from_json(size));
  return sizes;
}

/// Sizes that are not shown have no text.
std::string bracketed(const std::string& sizes) { return sizes.empty() ? "" : " (" + sizes + ")"; }

}  // namespace

Json to_json(const OtherSize& size) {
  Json json = {{"instance", size.instance}, {"values", size.values}};
  if (!size.pointers.empty()) json["pointers"] = size.pointers;
  return json;
}

OtherSize other_size_from_json(const Json& from) {
  OtherSize size{from.at("instance"), {}, {}};
  for (auto& [name, value] : from.at("values").items()) size.values[name] = value.get<int64_t>();
  if (auto pointers = from.find("pointers"); pointers != from.end()) size.pointers = *pointers;
  return size;
}

std::string OtherSize::text() const {
  std::string text;
  for (auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  if (!pointers.empty()) text += (text.empty() ? "" : ", ") + pointers;
  return text;
}

std::string to_text(const std::vector<OtherSize>& sizes) {
  std::vector<OtherSize> plain, with_pointers;
  for (auto& size : distinct(sizes))
    if (!size.text().empty())  // One that is not shown.
      (size.pointers.empty() ? plain : with_pointers).push_back(size);
  const std::string* only = only_argument(plain);
  std::string text = only ? *only + " = " : "";
  for (size_t i = 0; i < plain.size(); ++i) {
    if (i > 0) text += only ? ", " : "; ";
    text += only ? std::to_string(plain[i].values.begin()->second) : plain[i].text();
  }
  for (auto& size : with_pointers) text += (text.empty() ? "" : "; ") + size.text();
  return text;
}

std::string SizesRun::text() const {
  if (wrong && wrong->size.text().empty()) return "wrong at a size that is not shown";
  if (wrong) return "wrong at " + wrong->size.text() + ": " + wrong->found;
  std::string text;
  if (!right.empty()) text = "right at " + counted(distinct(right).size(), "other size") + " (" + to_text(right) + ")";
  if (!unshown.empty())
    text += (text.empty() ? "right at " : " and at ") + std::to_string(distinct(unshown).size()) +
            " that no proposer is shown";
  if (text.empty()) text = "run at recorded sizes only";
  std::map<std::string, std::vector<OtherSize>> reasons;
  for (auto& one : dropped) reasons[one.why].push_back(one.size);
  for (auto& [why, sizes] : reasons)
    text += "; " + counted(distinct(sizes).size(), "size") + " left out" + bracketed(to_text(sizes)) + ": " + why;
  if (beyond_premise > 0) text += "; " + counted(beyond_premise, "size") + " left out: its premise does not hold there";
  if (!left_out.empty()) text += "; " + left_out;
  return text;
}

Json to_json(const SizesRun& run) {
  Json dropped = Json::array();
  for (auto& one : run.dropped) dropped.push_back({{"size", to_json(one.size)}, {"why", one.why}});
  Json json = {{"right", json_of(run.right)},
               {"unshown", json_of(run.unshown)},
               {"dropped", dropped},
               {"beyond_premise", run.beyond_premise},
               {"seed", run.seed},
               {"left_out", run.left_out}};
  if (run.wrong)
    json["wrong"] = {{"size", to_json(run.wrong->size)}, {"shown", run.wrong->shown}, {"found", run.wrong->found}};
  return json;
}

SizesRun sizes_run_from_json(const Json& from) {
  SizesRun run;
  run.right = sizes_from_json(from.at("right")), run.unshown = sizes_from_json(from.at("unshown"));
  for (auto& one : from.at("dropped")) run.dropped.push_back({other_size_from_json(one.at("size")), one.at("why")});
  run.beyond_premise = from.at("beyond_premise"), run.seed = from.at("seed"), run.left_out = from.at("left_out");
  if (auto wrong = from.find("wrong"); wrong != from.end())
    run.wrong = SizesRun::Wrong{other_size_from_json(wrong->at("size")), wrong->at("shown"), wrong->at("found")};
  return run;
}

}  // namespace kernelift
