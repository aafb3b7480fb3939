// See pattern_library.h.
#include "tuner/inherit/pattern_library.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "core/base/file.h"
#include "core/base/locks/lock.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

constexpr const char* kFormat = "kernelift-patterns";
constexpr int kVersion = 1;
constexpr double kAlike = 0.9;         ///< From this similarity on two kernels count as one.
constexpr size_t kMostPatterns = 500;  ///< Those that promise least are forgotten.
constexpr std::chrono::seconds kLockPatience{10};
const double kSmallestWorth = std::log(1.01);

/// What it promises a kernel like its own.
double promise(const Pattern& pattern) { return pattern.worth_for(pattern.context); }

Result<Lock> take_lock(const fs::path& file) {
  const auto until = std::chrono::steady_clock::now() + kLockPatience;
  while (true) {
    KERNELIFT_ASSIGN(std::optional<Lock> lock, Lock::try_take(file));
    if (lock) return std::move(*lock);
    if (std::chrono::steady_clock::now() >= until)
      return environment_error("another process has been writing it for " + std::to_string(kLockPatience.count()) +
                               " s (" + file.string() + " is locked)");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

Result<PatternLibrary> PatternLibrary::read(const fs::path& file) {
  PatternLibrary library;
  std::error_code error;
  if (!fs::exists(file, error)) return library;
  KERNELIFT_ASSIGN(Json json, read_json(file));
  KERNELIFT_TRY(check_artefact(json, kFormat, kVersion, file.string()));
  KERNELIFT_ASSIGN(library.patterns_, reading(file.string(), [&] {
                     std::vector<Pattern> patterns;
                     for (auto& one : json.at("patterns")) patterns.push_back(pattern_from_json(one));
                     return patterns;
                   }));
  return library;
}

Pattern* PatternLibrary::known(const Pattern& pattern) {
  auto same = std::ranges::find_if(patterns_, [&](auto& one) {
    return one.same_chain(pattern) && one.context.architecture == pattern.context.architecture &&
           one.context.features.similarity(pattern.context.features) >= kAlike;
  });
  return same == patterns_.end() ? nullptr : &*same;
}

void PatternLibrary::learn(const Pattern& found) {
  Pattern* before = known(found);
  if (!before) return patterns_.push_back(found);
  // Another run of the kernel on which it was found says nothing about others.
  if (before->context.is_kernel_of(found.context)) return;
  before->log_gains += found.log_gains, before->tried += found.tried, before->held += found.held;
}

void PatternLibrary::count(const PatternOutcome& outcome) {
  Pattern* pattern = known(outcome.pattern);
  if (!pattern) pattern = &patterns_.emplace_back(outcome.pattern);
  ++pattern->tried;
  if (outcome.held) ++pattern->held, pattern->log_gains += std::log(outcome.gain);
}

void PatternLibrary::add_from(const PatternLibrary& others) {
  for (auto& pattern : others.patterns_)
    if (!known(pattern)) patterns_.push_back(pattern);
}

std::vector<Pattern> PatternLibrary::offers(const PatternContext& kernel, size_t most) const {
  std::vector<std::pair<double, const Pattern*>> ranked;
  for (auto& pattern : patterns_)
    if (double worth = pattern.worth_for(kernel); worth >= kSmallestWorth) ranked.emplace_back(worth, &pattern);
  std::ranges::sort(ranked,
                    [](auto& a, auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<Pattern> offered;
  for (auto& [worth, pattern] : ranked) {
    if (offered.size() == most) break;
    if (std::ranges::none_of(offered, [&](auto& one) { return one.same_chain(*pattern); })) offered.push_back(*pattern);
  }
  return offered;
}

Status PatternLibrary::update(const fs::path& file, const std::vector<PatternOutcome>& outcomes,
                              const std::vector<Pattern>& found) {
  if (outcomes.empty() && found.empty()) return done();
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  fs::path beside = file;
  KERNELIFT_ASSIGN([[maybe_unused]] Lock lock, take_lock(beside += ".lock"));
  KERNELIFT_ASSIGN(PatternLibrary library, read(file));
  for (auto& outcome : outcomes) library.count(outcome);
  for (auto& pattern : found) {
    // Where it was inherited, its outcome has been counted.
    auto same = [&](auto& outcome) { return outcome.pattern.same_chain(pattern); };
    if (std::ranges::none_of(outcomes, same)) library.learn(pattern);
  }
  while (library.patterns_.size() > kMostPatterns)
    library.patterns_.erase(std::ranges::min_element(library.patterns_, {}, promise));
  Json json = artefact(kFormat, kVersion, kVersion), all = Json::array();
  for (auto& pattern : library.patterns_) all.push_back(to_json(pattern));
  json["patterns"] = std::move(all);
  return write_json(file, json);
}

fs::path users_patterns() {
  auto named = [](const char* variable) -> fs::path {
    const char* value = std::getenv(variable);
    return value && *value == '/' ? value : "";
  };
  fs::path data = named("XDG_DATA_HOME");
  if (data.empty() && !named("HOME").empty()) data = named("HOME") / ".local" / "share";
  return data.empty() ? data : data / "kernelift" / "patterns.json";
}

}  // namespace kernelift::tuner
