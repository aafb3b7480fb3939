// See fidelity.h.
#include "core/model/fidelity.h"

#include <algorithm>
#include <cstdio>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"

namespace kernelift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFidelityFormat = "kernelift-fidelity";
constexpr const char* kFidelityFile = "fidelity.json";
constexpr std::string_view kBegin = "<!-- replays -->\n", kEnd = "<!-- end of replays -->\n";
constexpr std::pair<Fidelity::Changed, const char*> kChanged[] = {
    {Fidelity::Changed::Exactly, "exactly"},
    {Fidelity::Changed::WithinTolerance, "within tolerance"},
    {Fidelity::Changed::Otherwise, "otherwise"}};

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string durations_text(const std::map<std::string, Fidelity::Instance>& instances) {
  size_t compared = 0, reproduced = 0;
  std::vector<std::string> off;
  for (auto& [id, instance] : instances) {
    if (instance.recorded_us <= 0 || instance.replayed_us <= 0) continue;
    ++compared, reproduced += instance.reproduced;
    char text[96];
    std::snprintf(text, sizeof text, ": %.3f us %s here, %.3f us there", instance.replayed_us, instance.cache.c_str(),
                  instance.recorded_us);
    if (!instance.reproduced) off.push_back(id + text);
  }
  if (compared == 0) return "durations not compared";
  std::string of = std::to_string(reproduced) + " of " + std::to_string(instances.size()) + " durations reproduced";
  if (compared < instances.size()) of += ", " + std::to_string(instances.size() - compared) + " not compared";
  return of + (off.empty() ? "" : " (" + join(off, "; ") + ")");
}

Fidelity fidelity_from_json(const Json& from) {
  Fidelity made;
  made.device = from.at("device"), made.code = from.value("code", ""),
  made.relocated = from.at("addresses") != "as recorded";
  for (auto& [id, entry] : from.at("instances").items()) {
    Fidelity::Instance instance;
    std::string changed = entry.at("changed");
    auto known = std::ranges::find_if(kChanged, [&](auto& pair) { return pair.second == changed; });
    if (known == std::end(kChanged))
      malformed("'" + changed + "' is not a result of comparing memory (exactly, within tolerance, otherwise)");
    instance.changed = known->first, instance.trouble = entry.value("trouble", "");
    instance.recorded_us = entry.value("recorded_us", 0.0), instance.replayed_us = entry.value("replayed_us", 0.0);
    instance.cache = entry.value("cache", ""), instance.reproduced = entry.value("reproduced", false);
    made.instances[id] = std::move(instance);
  }
  return made;
}

/// A README without the marks was written by the user and is left as it is.
Status write_readme(const fs::path& file, const std::vector<Fidelity>& replays) {
  auto text = read_text(file);
  size_t begin = text.ok() ? text->find(kBegin) : std::string::npos;
  size_t end = begin == std::string::npos ? begin : text->find(kEnd, begin);
  if (end == std::string::npos) return done();
  return write_atomically(file, text->substr(0, begin) + fidelity_text(replays) + text->substr(end + kEnd.size()));
}

}  // namespace

const char* name(Fidelity::Grade grade) {
  return grade == Fidelity::Grade::Full ? "full" : grade == Fidelity::Grade::Limited ? "limited" : "none";
}

Fidelity::Grade Fidelity::grade() const {
  bool full = !relocated && !instances.empty();
  for (auto& [id, instance] : instances) {
    if (instance.changed == Changed::Otherwise) return Grade::None;
    full &= instance.recorded_us > 0 && instance.replayed_us > 0 && instance.reproduced;
  }
  return full ? Grade::Full : Grade::Limited;
}

std::string Fidelity::text() const {
  std::vector<std::string> wrong;
  bool exactly = true;
  for (auto& [id, instance] : instances) {
    exactly &= instance.changed == Changed::Exactly;
    if (instance.changed == Changed::Otherwise)
      wrong.push_back(id + (instance.trouble.empty() ? "" : ": " + instance.trouble));
  }
  std::string text = std::string(name(grade())) + " on " + device + (code.empty() ? "" : ", " + code) + ": addresses ";
  text += relocated ? "RELOCATED" : "as recorded";
  if (!wrong.empty()) return text + "; memory afterwards is NOT what the application got (" + join(wrong, "; ") + ")";
  return text + "; memory afterwards as in the application, " + (exactly ? "to the last bit" : "within its tolerance") +
         "; " + durations_text(instances);
}

std::string fidelity_text(const std::vector<Fidelity>& replays) {
  std::string text(kBegin);
  if (replays.empty())
    text +=
        "- Grade: not known, because the MEP was not replayed yet. `kernelift replay` determines it and writes it here "
        "and to `fidelity.json`.\n";
  for (auto& replay : replays) text += "- Grade: " + markdown_text(replay.text()) + ".\n";
  return text + std::string(kEnd);
}

Json to_json(const Fidelity& fidelity) {
  Json document{{"grade", name(fidelity.grade())},
                {"device", fidelity.device},
                {"addresses", fidelity.relocated ? "relocated" : "as recorded"}};
  if (!fidelity.code.empty()) document["code"] = fidelity.code;
  document["instances"] = Json::object();
  for (auto& [id, instance] : fidelity.instances) {
    Json& entry = document["instances"][id] = Json::object();
    for (auto& [changed, called] : kChanged)
      if (changed == instance.changed) entry["changed"] = called;
    if (!instance.trouble.empty()) entry["trouble"] = instance.trouble;
    if (instance.recorded_us > 0 && instance.replayed_us > 0)
      entry["recorded_us"] = instance.recorded_us, entry["replayed_us"] = instance.replayed_us,
      entry["cache"] = instance.cache, entry["reproduced"] = instance.reproduced;
  }
  return document;
}

Result<std::vector<Fidelity>> read_fidelity(const fs::path& folder) {
  fs::path file = folder / kFidelityFile;
  std::error_code code;
  if (!fs::exists(file, code)) return std::vector<Fidelity>();
  KERNELIFT_ASSIGN(Json document, read_json(file));
  KERNELIFT_TRY(check_artefact(document, kFidelityFormat, kFidelityVersion, file.string()));
  return reading(file.string(), [&] {
    std::vector<Fidelity> replays;
    for (auto& entry : document.at("replays")) replays.push_back(fidelity_from_json(entry));
    return replays;
  });
}

Status keep_fidelity(const fs::path& folder, const Fidelity& fidelity) {
  // A damaged file is replaced.
  auto known = read_fidelity(folder);
  std::vector<Fidelity> replays = known.ok() ? std::move(*known) : std::vector<Fidelity>();
  Fidelity latest = fidelity;
  // A replay in the other cache mode compares no durations: earlier durations of the same code are kept.
  for (auto& earlier : replays)
    for (auto& [id, instance] : earlier.instances) {
      if (earlier.device != latest.device || earlier.code != latest.code || !latest.instances.contains(id)) continue;
      Fidelity::Instance& now = latest.instances[id];
      if (now.recorded_us > 0) continue;
      now.recorded_us = instance.recorded_us, now.replayed_us = instance.replayed_us, now.cache = instance.cache,
      now.reproduced = instance.reproduced;
    }
  std::erase_if(replays, [&](auto& other) { return other.device == latest.device; });
  replays.push_back(std::move(latest));
  Json document = artefact(kFidelityFormat, kFidelityVersion, 1);
  document["replays"] = Json::array();
  for (auto& replay : replays) document["replays"].push_back(to_json(replay));
  KERNELIFT_TRY(write_json(folder / kFidelityFile, document));
  return write_readme(folder / "README.md", replays);
}

Status forget_fidelity(const fs::path& folder) {
  std::error_code code;
  fs::remove(folder / kFidelityFile, code);
  if (code) return environment_error("cannot remove " + (folder / kFidelityFile).string() + ": " + code.message());
  return done();
}

}  // namespace kernelift
