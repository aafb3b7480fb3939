// Replay of the original: compares its results and its durations with those in the application. See evaluate.h.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sandbox/device/confined_cpu/confined_cpu.h"
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cpu/cpu_runners.h"
#include "sandbox/evaluate/cuda/cuda_replay.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/runner/timing/measurement_plan.h"
#include "sandbox/judge/diagnosis.h"

namespace kernelift::sandbox {
namespace {

std::string line(const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Durations this short are compared by absolute difference, since measuring them errs by about a microsecond.
bool is_short(const InstanceReport& instance) {
  constexpr double kShort = 10e-6;
  return instance.recorded_seconds < kShort;
}

constexpr double kShortGate = 1.5e-6;

bool is_reproduced(const InstanceReport& instance, double deviation) {
  if (is_short(instance)) return std::fabs(deviation) * instance.recorded_seconds <= kShortGate;
  return std::fabs(deviation) <= kInVivoGate;
}

Result<BaselineReport> measure(const Mep& mep, const std::filesystem::path& folder, const ReplayOptions& options,
                               bool cold, const RunnableCode& code, const Roundings& roundings) {
  KERNELIFT_ASSIGN(auto runners, cpu_runners(mep, folder, runner_settings(options), options.threads));
  BaselineReport report;
  std::set<std::string> fatal;
  Original original{code, roundings.ways, {}, options.tell};
  KERNELIFT_ASSIGN(auto runner, RunnerProcess::start(*runners, 0, original, cold, fatal, report));
  return report;
}

}  // namespace

bool all_long(const BaselineReport& report) {
  return std::ranges::all_of(report.instances, [](auto& instance) { return instance.seconds > kLongSeconds; });
}

std::optional<double> in_vivo_deviation(const InstanceReport& instance) {
  if (instance.recorded_seconds <= 0 || instance.seconds <= 0) return std::nullopt;
  return instance.seconds / instance.recorded_seconds - 1;
}

namespace {
Result<ReplayReport> replay_on_device(const Mep& mep, const std::filesystem::path& folder,
                                      const ReplayOptions& options) {
  if (options.device != "cpu") {
    auto gpu = open_gpu(options.device, mep, folder, runner_settings(options), false);
    if (gpu.ok()) return replay_on_cuda(folder, mep, options, std::move(*gpu));
    if (options.device != "auto") return std::move(gpu).error();
  }
  CompilePoolOptions pool;
  pool.few = true;
  KERNELIFT_ASSIGN(CompiledBaseline baseline, compile_baseline(mep, folder, pool));
  add_roundings(mep, baseline, false);
  RunnableCode code;
  code.image = baseline.reply.image;
  baseline.pool.reset();  // Nothing else runs while the kernel is timed.
  ReplayReport report;
  report.kernel = mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name;
  report.device = cpu_device_label(options.threads);
  if (options.counters) report.notes.push_back("the CPU device has no hardware counters; --device cuda has");
  if (options.warm || !options.cold) {
    KERNELIFT_ASSIGN(report.warm, measure(mep, folder, options, false, code, baseline.roundings));
  }
  // A wrong replay is not timed again, nor are launches so long that caches make no difference.
  if (options.cold && (!report.warm || (report.warm->pass() && !all_long(*report.warm)))) {
    KERNELIFT_ASSIGN(report.cold, measure(mep, folder, options, true, code, baseline.roundings));
  }
  return report;
}

}  // namespace

Result<ReplayReport> replay(const std::filesystem::path& folder, const ReplayOptions& options) {
  if (options.device.starts_with("hip"))
    return refused("a MEP cannot be replayed on '" + options.device + "' yet; --device cpu and --device cuda can");
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  if (mep.instances.empty())
    return answer_is_no((folder / "mep.json").string() + " holds no recorded instance, so there is nothing to replay");
  KERNELIFT_ASSIGN(ReplayReport report, replay_on_device(mep, folder, options));
  for (auto& instance : mep.instances)
    report.recorded[instance.id] = {instance.in_vivo, unreached_text(instance.unreached)};
  for (auto& note : notes_on_another_machine(mep, report)) report.notes.push_back(note);
  const BaselineReport& first = report.warm ? *report.warm : *report.cold;
  if (!first.unverifiable.empty())
    report.notes.push_back("PASS does not show what the kernel computes: " + first.unverifiable);
  return report;
}

std::vector<std::string> notes_on_another_machine(const Mep& mep, const ReplayReport& report) {
  std::vector<std::string> notes;
  bool known = false, compared = false;
  int recorded_arch = 0;
  for (auto& instance : mep.instances) {
    known |= instance.microseconds > 0;
    if (!instance.code.empty()) recorded_arch = std::max(recorded_arch, instance.settings.binary_version);
  }
  for (auto* mode : {&report.warm, &report.cold})
    for (size_t i = 0; *mode && i < (**mode).instances.size(); ++i)
      compared |= (**mode).instances[i].recorded_seconds > 0;
  if (report.compiler == "clang" && recorded_arch > 0)
    notes.push_back("the machine code that the application ran (sm_" + std::to_string(recorded_arch) +
                    ") is not for this GPU: what is timed is its source as our compiler builds it");
  if (known && !compared)
    notes.push_back("recorded on " + mep.captured_on + ": durations there are not compared with this device's");
  return notes;
}

bool ReplayReport::compares(const std::string& instance, bool cold) const {
  auto known = recorded.find(instance);
  return cold == (known != recorded.end() && known->second.in_vivo.cache == "cold");
}

std::optional<ReplayReport::Durations> ReplayReport::durations() const {
  Durations found;
  double here = 0, there = 0;
  for (auto* mode : {&warm, &cold})
    for (size_t i = 0; *mode && i < (**mode).instances.size(); ++i) {
      const InstanceReport& timed = (**mode).instances[i];
      auto deviation = in_vivo_deviation(timed);
      if (!deviation || !timed.pass || !compares(timed.id, mode == &cold)) continue;
      ++found.compared, found.reproduced += is_reproduced(timed, *deviation);
      here += timed.weight * timed.seconds / timed.recorded_seconds, there += timed.weight;
    }
  if (found.compared == 0) return std::nullopt;
  // Weights are shares of the application's time in the kernel.
  if (there > 0) found.weighted_deviation = here / there - 1;
  return found;
}

bool ReplayReport::relocated() const {
  return std::ranges::any_of(notes, [](auto& note) { return note.starts_with(kRelocated); });
}

Fidelity ReplayReport::fidelity() const {
  Fidelity found;
  found.device = device, found.code = compiler, found.relocated = relocated();
  for (auto* mode : {&warm, &cold})
    for (size_t i = 0; *mode && i < (**mode).instances.size(); ++i) {
      const InstanceReport& timed = (**mode).instances[i];
      Fidelity::Instance& instance = found.instances[timed.id];
      for (auto& buffer : timed.buffers) {
        if (!buffer.pass && instance.trouble.empty()) instance.trouble = buffer.name + ", " + buffer.detail;
        if (!buffer.exact && instance.changed == Fidelity::Changed::Exactly)
          instance.changed = Fidelity::Changed::WithinTolerance;
      }
      if (!timed.failure.empty()) instance.trouble = timed.failure;
      if (!timed.pass) instance.changed = Fidelity::Changed::Otherwise;
      auto deviation = in_vivo_deviation(timed);
      if (!deviation || !timed.pass || !compares(timed.id, mode == &cold)) continue;
      instance.recorded_us = timed.recorded_seconds * 1e6, instance.replayed_us = timed.seconds * 1e6;
      instance.cache = mode == &cold ? "cold" : "warm", instance.reproduced = is_reproduced(timed, *deviation);
    }
  return found;
}

void keep_calibrated(const std::filesystem::path& folder, const Mep& mep, const std::string& device,
                     const std::string& code, const BaselineReport& calibrated, bool cold,
                     const std::vector<std::string>& notes) {
  auto known = read_fidelity(folder);
  if (known.ok() && std::ranges::any_of(*known, [&](auto& replay) { return replay.device == device; })) return;
  ReplayReport report;
  report.device = device, report.compiler = code, report.notes = notes;
  for (auto& instance : mep.instances) report.recorded[instance.id].in_vivo = instance.in_vivo;
  BaselineReport seen = calibrated;
  // Durations in the application are those of its own machine code. Calibration found it right within tolerances; that
  // it is bitwise equal is not known.
  bool of_application =
      std::ranges::all_of(seen.instances, [](auto& instance) { return instance.application_seconds > 0; });
  for (auto& instance : seen.instances) {
    if (!of_application) continue;
    instance.seconds = instance.application_seconds, report.compiler = kApplicationsCode;
    for (auto& buffer : instance.buffers) buffer.exact &= !buffer.changed;
  }
  (cold ? report.cold : report.warm) = seen;
  // Tuning goes on if the folder is not writable.
  (void)keep_fidelity(folder, report.fidelity());
}

bool ReplayReport::pass() const {
  return (!warm || warm->pass()) && (!cold || cold->pass()) && (!by_clang || by_clang->pass() || !only_by_nvcc.empty());
}

std::string ReplayReport::text() const {
  std::string text = kernel + " on " + device + (compiler.empty() ? "" : ", " + compiler) + "\n";
  const BaselineReport& first = warm ? *warm : *cold;
  for (size_t i = 0; i < first.instances.size(); ++i) {
    const InstanceReport& instance = first.instances[i];
    text += "instance " + instance.id + (instance.held_out ? " (held out)" : "") + "\n";
    if (!instance.failure.empty()) text += "  FAIL  " + instance.failure + "\n";
    auto known = recorded.find(instance.id);
    if (!instance.failure.empty() && known != recorded.end() && !known->second.unreached.empty())
      text += "        " + known->second.unreached + "\n";
    for (auto& buffer : instance.buffers)
      text += line("  %s  %-24s %10llu bytes%s", buffer.pass ? "PASS" : "FAIL", buffer.name.c_str(),
                   (unsigned long long)buffer.bytes,
                   buffer.changed   ? ""
                   : buffer.written ? ", rewritten with equal values"
                                    : ", not changed") +
              (buffer.changed || buffer.written ? "  (" + buffer.tolerance + ")" : "") +
              (buffer.pass ? "" : ": " + buffer.detail) + "\n";
    for (auto* mode : {&warm, &cold}) {
      if (!*mode || !(**mode).instances[i].pass || !instance.pass) continue;
      const InstanceReport& timed = (**mode).instances[i];
      text += line("  %s caches: %.3f us", mode == &warm ? "warm" : "cold", timed.seconds * 1e6) +
              (timed.seconds > kLongSeconds && timed.spread == 0 ? ", one run"
                                                                 : line(", spread %.1f %%", timed.spread * 100));
      if (auto deviation = in_vivo_deviation(timed); deviation && compares(timed.id, mode == &cold)) {
        text += line("; in the application %.3f us: ", timed.recorded_seconds * 1e6) +
                (is_reproduced(timed, *deviation) ? "reproduced"
                 : is_short(timed)                ? line("NOT reproduced within %.1f us", kShortGate * 1e6)
                                                  : line("NOT reproduced within %.0f %%", kInVivoGate * 100)) +
                (is_short(timed) ? line(" (%+.2f us)", *deviation * timed.recorded_seconds * 1e6)
                                 : line(" (%+.0f %%)", *deviation * 100));
        if (known != recorded.end() && !known->second.in_vivo.how.empty())
          text += "; there: " + known->second.in_vivo.how;
        if (known != recorded.end() && !known->second.in_vivo.why.empty()) text += "; " + known->second.in_vivo.why;
        if (known != recorded.end() && known->second.in_vivo.own > 0)
          text += line("; the snapshotted launch itself, after a pause: %.3f us", known->second.in_vivo.own);
      }
      text += "\n";
    }
  }
  for (size_t i = 0; by_clang && i < by_clang->instances.size(); ++i) {
    const InstanceReport& instance = by_clang->instances[i];
    BaselineReport alone{{instance}};
    text += line("instance %s built by clang: ", instance.id.c_str()) +
            (instance.pass ? line("%.3f us, spread %.1f %%\n", instance.seconds * 1e6, instance.spread * 100)
                           : "FAIL  " + alone.complaint() + "\n");
  }
  if (auto found = durations())
    text += line("fidelity: %d of %d instances take as long as in the application; by their weights %+.1f %%\n",
                 found->reproduced, found->compared, found->weighted_deviation * 100);
  text += "fidelity grade: " + fidelity().text() + "\n";
  if (cross_check) text += cross_check->text() + "\n";
  if (facts)
    text += "What its time goes into (heaviest instance):\n" + facts_table(*facts) + "  " +
            diagnose(*facts).paragraph() + "\n";
  if (!only_by_nvcc.empty()) text += "note: " + only_by_nvcc + "\n";
  for (auto& note : notes) text += "note: " + note + "\n";
  return text + (pass() ? "PASS\n" : "FAIL\n");
}

Json ReplayReport::json() const {
  Json document{{"kernel", kernel}, {"device", device}, {"pass", pass()}};
  if (!compiler.empty()) document["compiler"] = compiler;
  if (by_clang) document["by_clang"] = to_json(*by_clang);
  if (!only_by_nvcc.empty()) document["only_by_nvcc"] = only_by_nvcc;
  if (facts) document["facts"] = to_json(*facts), document["diagnosis"] = diagnose(*facts).findings;
  if (cross_check) document["cross_check"] = to_json(*cross_check);
  if (!notes.empty()) document["notes"] = notes;
  for (auto* mode : {&warm, &cold}) {
    if (!*mode) continue;
    Json report = to_json(**mode);
    for (size_t i = 0; i < report["instances"].size(); ++i)
      if (auto deviation = in_vivo_deviation((**mode).instances[i])) {
        Json& entry = report["instances"][i];
        entry["in_vivo_deviation"] = *deviation;
        // The gate applies only to the cache mode that the MEP names.
        if (compares((**mode).instances[i].id, mode == &cold))
          entry["reproduced"] = is_reproduced((**mode).instances[i], *deviation);
      }
    document[mode == &warm ? "warm" : "cold"] = std::move(report);
  }
  for (auto& [id, there] : recorded)
    document["in_vivo"][id] = {{"cache", there.in_vivo.cache}, {"how", there.in_vivo.how},
                               {"why", there.in_vivo.why},     {"launches", there.in_vivo.launches},
                               {"low_us", there.in_vivo.low},  {"high_us", there.in_vivo.high},
                               {"own_us", there.in_vivo.own}};
  document["fidelity"] = to_json(fidelity());
  if (auto found = durations()) {
    Json& fidelity = document["fidelity"];
    fidelity["reproduced"] = found->reproduced, fidelity["compared"] = found->compared,
    fidelity["weighted_deviation"] = found->weighted_deviation;
  }
  return document;
}

}  // namespace kernelift::sandbox
