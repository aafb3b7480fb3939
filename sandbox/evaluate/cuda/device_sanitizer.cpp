// See device_sanitizer.h.
#include "sandbox/evaluate/cuda/device_sanitizer.h"

#include <algorithm>
#include <utility>

#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/paths.h"
#include "sandbox/evaluate/cuda/single_launch.h"
#include "sandbox/jail/environment.h"

namespace kernelift::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTools[] = {"memcheck", "racecheck", "synccheck"};
/// The runner's own kernels (device/cuda/kernels/judging.cu), which put memory in place.
constexpr const char* kOwnKernels =
    "regex=^kl_(check_canary|classify|compare|copy|copy_ranges|copy_written|flush|hold|mix|nothing|poison|spread|"
    "uncovered|veil|write)$";
/// A tool slows a launch down by a factor of ten to some hundreds.
constexpr std::chrono::seconds kLimit{90};

Outcome outcome_of(const std::string& tool, const SanitizerReport& report) {
  if (tool == "racecheck") return Outcome::Unstable;
  const bool outside = report.where.find("out of bounds") != report.where.npos;
  return outside && report.what.find("write") != report.what.npos ? Outcome::WroteOutside : Outcome::Crashed;
}

const MepInstance& smallest(const Mep& mep) {
  return *std::ranges::min_element(
      mep.instances, {}, [](const MepInstance& one) { return std::pair(one.region_bytes(), one.geometry.threads()); });
}

}  // namespace

Result<SanitizerLog> DeviceSanitizer::of_original(const std::string& tool, const RunnableCode& original) {
  if (auto known = originals_.find(tool); known != originals_.end()) return known->second;
  KERNELIFT_ASSIGN(SanitizerLog log, run_(tool, original));
  return originals_.emplace(tool, std::move(log)).first->second;
}

Verdict DeviceSanitizer::judged(Verdict verdict, const RunnableCode& candidate, const RunnableCode& original) {
  Sanitized& said = verdict.sanitized.emplace();
  for (const char* tool : kTools) {
    auto found = run_(tool, candidate);
    if (!found.ok()) {
      said.why = found.error().message;
      return verdict;
    }
    auto known = found->reports.empty() ? Result<SanitizerLog>(SanitizerLog()) : of_original(tool, original);
    if (!known.ok()) {
      said.why = "of the original: " + known.error().message;
      return verdict;
    }
    auto is_own = [&](const SanitizerReport& report) {
      return std::ranges::none_of(known->reports, [&](auto& one) { return one.is_like(report); });
    };
    if (auto own = std::ranges::find_if(found->reports, is_own); own != found->reports.end()) {
      verdict.outcome = outcome_of(tool, *own), verdict.stage = Stage::Verify;
      verdict.detail = "compute-sanitizer's " + std::string(tool) + ": " + own->text();
      verdict.timings.clear(), verdict.embedded.reset(), verdict.by_clang.reset();
      return verdict;
    }
    said.tools.push_back(tool), said.as_original |= !found->reports.empty();
  }
  return verdict;
}

std::optional<fs::path> find_compute_sanitizer() {
  if (auto found = find_program("compute-sanitizer")) return found;
  const auto toolkit = cuda_toolkit();
  std::error_code code;
  if (toolkit)
    for (const char* place : {"bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"})
      if (fs::is_regular_file(*toolkit / place, code)) return *toolkit / place;
  return std::nullopt;
}

DeviceSanitizer::Run sanitized_launches(const fs::path& sanitizer, const Mep& mep, const fs::path& folder,
                                        int ordinal) {
  const std::string instance = smallest(mep).id;
  return [sanitizer, folder = fs::absolute(folder), ordinal, instance](
             const std::string& tool, const RunnableCode& code) -> Result<SanitizerLog> {
    KERNELIFT_ASSIGN(TemporaryFolder work, TemporaryFolder::create("kernelift-sanitizer"));
    KERNELIFT_ASSIGN(fs::path kernelift, executable());
    const fs::path request = work.path() / "launch", log = work.path() / "log";
    KERNELIFT_TRY(write({folder, instance, ordinal, code}, request));
    ProcessOptions options;
    options.timeout = kLimit;
    options.environment = {{"TMPDIR", work.path().string()}};
    options.prepare = [] {
      constexpr const char* kOwn[] = {"TMPDIR"};
      narrow_environment(kOwn);
      return done();
    };
    auto ran = run_process({sanitizer.string(),
                            "--tool",
                            tool,
                            "--log-file",
                            log.string(),
                            "--show-backtrace",
                            "no",
                            "--print-level",
                            "error",
                            "--print-limit",
                            "1000",
                            "--report-api-errors",
                            "no",
                            "--check-exit-code",
                            "no",
                            "--kernel-name-exclude",
                            kOwnKernels,
                            kernelift.string(),
                            "replay",
                            folder.string(),
                            "--launch-once",
                            request.string()},
                           options);
    if (!ran.ok()) return std::move(ran).error();
    if (ran->timed_out)
      return environment_error(tool + " takes more than " + std::to_string(kLimit.count()) + " s for one launch");
    auto text = read_text(log);
    SanitizerLog found = text.ok() ? read_sanitizer_log(*text) : SanitizerLog();
    // A launch that a tool ended fails; whatever else fails says nothing of the code.
    if (!found.complete || (ran->exit_code != 0 && found.reports.empty())) {
      std::string said = ran->err.substr(0, ran->err.find('\n'));
      return environment_error(tool + " " + ran->describe() + (said.empty() ? "" : ": " + said));
    }
    return found;
  };
}

}  // namespace kernelift::sandbox
