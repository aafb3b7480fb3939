// See tolerances.h.
#include "sandbox/evaluate/runner/tolerances.h"

#include "sandbox/evaluate/runner/write_set.h"
#include "sandbox/jail/hidden_bytes.h"
#include "sandbox/judge/rounding_envelope.h"

namespace kernelift::sandbox {
namespace {

constexpr const char *kExperiment = "rounding", *kSums = "sums";  ///< Announced.

/// Decodes a finding of kl_spread.
Spread spread_in(const judging::Finding& found) {
  return {judging::from_bits(found.largest_absolute), judging::from_bits(found.largest_ulps), found.mismatches > 0};
}

}  // namespace

Status calibration_in_time(const Workbench& bench) {
  if (!bench.settings.deadline || Deadline::clock::now() < *bench.settings.deadline) return done();
  return answer_is_no("the time was over before the original had been measured on all " +
                      std::to_string(bench.mep.instances.size()) +
                      " recorded instances, so nothing could be tried; give it more time (--time)");
}

void Tolerances::take_user_tolerance() {
  const auto users = bench_.user_tolerance();
  if (!users) return;
  for (auto& memory : bench_.memory->instances())
    for (auto* buffers : {&memory.regions, &memory.variables})
      for (auto& buffer : *buffers)
        for (size_t row = 0; row < buffer.bounds.tolerances.size(); ++row)
          if (buffer.rows[row].type.is_float()) buffer.bounds.tolerances[row] = *users;
}

Result<std::string> Tolerances::widen_by_run(size_t instance, const std::vector<DeviceMemory>& once, bool& varies) {
  const auto given = bench_.user_tolerance();
  ReplayInstance& memory = bench_.memory->instances()[instance];
  Steps steps(*bench_.kernels);
  size_t findings = 0;
  auto may_vary = [](const ReplayBuffer& region) { return region.writes != Writes::No; };
  for (auto& region : memory.regions) findings += may_vary(region) ? region.rows.size() : 0;
  steps.clear_findings(findings);
  size_t at = 0;
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    ReplayBuffer& region = memory.regions[i];
    for (size_t row = 0; may_vary(region) && row < region.rows.size(); ++row)
      steps.compare(region.rows[row], given ? *given : FloatTolerance::between_runs(region.rows[row].type),
                    result_of(memory, once, i), region.live, at++);
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  if (!outcome.ok()) return environment_error("comparing on the device: " + outcome.detail);
  KERNELIFT_ASSIGN(auto found, bench_.kernels->read_findings(findings));
  at = 0;
  std::string unsteady;
  struct Moved {
    ReplayBuffer* buffer;
    size_t region, row;
  };
  std::vector<Moved> moved;
  for (auto* buffers : {&memory.regions, &memory.variables})
    for (auto& buffer : *buffers)
      for (size_t row = 0; row < buffer.rows.size(); ++row) {
        bool seen = buffers == &memory.regions && may_vary(buffer);
        judging::Finding finding = seen ? found[at++] : judging::Finding{};
        if (finding.mismatches > 0 && unsteady.empty())
          unsteady = does_not_repeat(buffer.name, finding.mismatches, buffer.rows[row].count);
        if (row >= buffer.bounds.tolerances.size() || !buffer.rows[row].type.is_float()) continue;
        if (finding.changed > 0) buffer.bounds.tolerances[row].zero_signs = false;
        if (judging::from_bits(finding.largest_ulps) > 0)
          moved.push_back({&buffer, static_cast<size_t>(&buffer - buffers->data()), row});
      }
  varies |= !moved.empty();
  if (given || moved.empty()) return unsteady;
  Steps measure(*bench_.kernels);
  measure.clear_findings(moved.size());
  for (size_t i = 0; i < moved.size(); ++i)
    measure.spread(moved[i].buffer->rows[moved[i].row], result_of(memory, once, moved[i].region), moved[i].buffer->live,
                   i);
  if (outcome = measure.run(bench_.settings.launch_limit); !outcome.ok())
    return environment_error("comparing on the device: " + outcome.detail);
  KERNELIFT_ASSIGN(found, bench_.kernels->read_findings(moved.size()));
  for (size_t i = 0; i < moved.size(); ++i)
    spread_in(found[i]).grant_of_runs(moved[i].buffer->bounds.tolerances[moved[i].row]);
  return unsteady;
}

Result<std::optional<Tolerances::Beside>> Tolerances::run_beside_answers(const LoadedCode& code, MemoryEntry entry,
                                                                         bool over_poison) {
  ReplayInstance& memory = bench_.memory->instances()[entry.memory];
  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, entry.memory, over_poison);
  code.set_up(steps, memory, entry.instance);
  code.launch(steps, entry.instance);
  Beside beside;
  // Unchanged regions too: a repeated launch on equal inputs rewrites equal values.
  for (auto& region : memory.regions)
    for (size_t row = 0; row < region.bounds.tolerances.size(); ++row)
      if (region.rows[row].type.is_float()) beside.rows.push_back({&region, row});
  steps.clear_findings(beside.rows.size());
  for (size_t at = 0; at < beside.rows.size(); ++at) {
    auto [region, row] = beside.rows[at];
    steps.spread(region->rows[row], region->answer, region->live, at, region->veiled);
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  bench_.memory->launched(entry.memory, true);
  if (!outcome.usable()) {
    bench_.usable = false;
    return environment_error("the original, compiled with other rounding, ended with: " + outcome.detail);
  }
  if (!outcome.ok()) return std::optional<Beside>();
  KERNELIFT_ASSIGN(beside.found, bench_.kernels->read_findings(beside.rows.size()));
  return std::optional(std::move(beside));
}

Result<bool> Tolerances::widen_by(const LoadedCode& code, MemoryEntry entry, bool over_poison) {
  KERNELIFT_ASSIGN(auto beside, run_beside_answers(code, entry, over_poison));
  if (!beside) return false;
  for (size_t at = 0; at < beside->rows.size(); ++at) {
    auto [buffer, row] = beside->rows[at];
    FloatTolerance& tolerance = buffer->bounds.tolerances[row];
    spread_in(beside->found[at]).grant(buffer->rows[row].type, tolerance);
    if (beside->found[at].changed > 0) tolerance.zero_signs = false;
  }
  return true;
}

Status Tolerances::count_zero_signs(size_t instance) {
  KERNELIFT_ASSIGN(auto beside, run_beside_answers(bench_.baseline, {instance, instance}, false));
  for (size_t at = 0; beside && at < beside->rows.size(); ++at) {
    auto [buffer, row] = beside->rows[at];
    buffer->bounds.tolerances[row].zero_signs = beside->found[at].changed == 0;
  }
  return done();
}

Status Tolerances::add_envelopes(const std::vector<std::string>& images) {
  bench_.rounded.clear();
  if (bench_.user_tolerance()) return done();
  // All builds share one source: if one ended a process, the others probably would too, and none is tried.
  if (bench_.settings.fatal.contains(kExperiment)) return done();
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i)
    if (bench_.plan.of(i).exact_sums) KERNELIFT_TRY(count_zero_signs(i));
  // All builds are the same code if nothing in it is rounded.
  if (images.empty()) return done();
  bench_.announce(kExperiment);
  for (size_t way = 0; way < images.size(); ++way) {
    KERNELIFT_TRY(calibration_in_time(bench_));
    LoadedCode code;
    RunnableCode wanted;
    wanted.image = images[way];
    // A build that does not load or run is skipped.
    if (code.load(bench_.device, *bench_.memory, bench_.mep, wanted)) continue;
    bool ran = true;
    for (size_t i = 0; ran && i < bench_.mep.instances.size(); ++i) {
      if (bench_.plan.of(i).sparing || way >= bench_.plan.of(i).roundings) continue;
      KERNELIFT_ASSIGN(ran, widen_by(code, {i, i}));
    }
    if (ran) bench_.rounded.push_back(std::move(code));
  }
  // If none ran, nothing is known of what rounding does.
  for (auto& memory : bench_.memory->instances())
    for (auto& region : memory.regions)
      for (auto& tolerance : region.bounds.tolerances) tolerance.zero_signs &= !bench_.rounded.empty();
  bench_.announce("");
  return done();
}

std::vector<const LoadedCode*> Tolerances::builds_for(MemoryEntry entry) const {
  std::vector<const LoadedCode*> builds;
  if (bench_.user_tolerance()) return builds;
  for (auto& code : bench_.rounded)
    if (builds.size() < bench_.plan.of(entry.instance).roundings) builds.push_back(&code);
  // Its answers to recorded inputs are what was recorded.
  if (bench_.application && entry.memory != entry.instance) builds.push_back(&*bench_.application);
  return builds;
}

bool Tolerances::judge_again(MemoryEntry entry, const std::function<bool()>& right) {
  if (!bench_.plan.of(entry.instance).sparing) return false;
  const bool first = late_.try_emplace(entry.memory, Late{entry.instance}).second;
  Late& late = late_.at(entry.memory);
  if (first && lend(entry) && right()) return true;
  const auto builds = builds_for(entry);
  while (late.builds < builds.size()) {
    bench_.announce(kExperiment);
    const auto ran = widen_by(*builds[late.builds++], entry);
    if (!ran.ok()) return false;
    bench_.announce("");
    if (*ran && right()) return true;
  }
  if (std::exchange(late.sums, true) || bench_.at_random.empty()) return false;
  bench_.announce(kSums);
  if (!find_exact_sums(entry).ok()) return false;
  bench_.announce("");
  return right();
}

bool Tolerances::lend(MemoryEntry entry) {
  auto& memories = bench_.memory->instances();
  auto widen = [](std::vector<ReplayBuffer>& to, const std::vector<ReplayBuffer>& from) {
    for (size_t i = 0; i < std::min(to.size(), from.size()); ++i)
      for (size_t row = 0; row < std::min(to[i].bounds.tolerances.size(), from[i].bounds.tolerances.size()); ++row)
        grant_of_alike(from[i].bounds.tolerances[row], to[i].bounds.tolerances[row]);
  };
  bool any = false;
  for (auto& [memory, late] : late_) {
    if (memory == entry.memory || late.instance != entry.instance || memory >= memories.size()) continue;
    widen(memories[entry.memory].regions, memories[memory].regions);
    widen(memories[entry.memory].variables, memories[memory].variables);
    any = true;
  }
  return any;
}

Status Tolerances::find_exact_sums(MemoryEntry entry) {
  constexpr uint64_t kLargest = 16 << 20;  // Bytes; a reduction's results are small.
  ReplayInstance& memory = bench_.memory->instances()[entry.memory];
  struct Sums {
    ReplayBuffer* buffer;
    HiddenBytes answer;
    std::vector<std::byte> got;
    LaneReferences references;
  };
  std::vector<Sums> all;
  for (auto& region : memory.regions) {
    region.bounds.nearer.clear();
    if (!region.output() || !region.bounds.layout.has_floats() || region.size > kLargest) continue;
    Sums& sums = all.emplace_back(Sums{&region, HiddenBytes(region.size), std::vector<std::byte>(region.size),
                                       LaneReferences(region.bounds.layout)});
    if (!read_answer(bench_.device, region, 0, sums.answer.bytes()).ok()) return done();
  }
  for (auto& code : bench_.at_random) {
    Steps steps(*bench_.kernels);
    bench_.memory->restore(steps, entry.memory, false);
    code.set_up(steps, memory, entry.instance);
    code.launch(steps, entry.instance);
    DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
    bench_.memory->launched(entry.memory, true);
    if (!outcome.usable()) {
      bench_.usable = false;
      return environment_error("the original with randomly rounded sums ended with: " + outcome.detail);
    }
    for (auto& sums : all)
      if (outcome.ok() && bench_.device.read(sums.buffer->live, sums.got).ok())
        sums.references.add(sums.answer.bytes(), sums.got);
  }
  for (auto& sums : all) sums.references.grant(sums.answer.bytes(), sums.buffer->bounds);
  return done();
}

Status Tolerances::add_nearer_references(const std::vector<std::string>& images) {
  bench_.at_random.clear();
  if (images.empty() || bench_.user_tolerance() || bench_.settings.fatal.contains(kSums)) return done();
  bench_.announce(kSums);
  for (auto& image : images) {
    LoadedCode code;
    RunnableCode wanted;
    wanted.image = image;
    if (!code.load(bench_.device, *bench_.memory, bench_.mep, wanted)) bench_.at_random.push_back(std::move(code));
  }
  for (size_t i = 0; i < bench_.mep.instances.size(); ++i) {
    KERNELIFT_TRY(calibration_in_time(bench_));
    if (bench_.plan.of(i).exact_sums) KERNELIFT_TRY(find_exact_sums({i, i}));
  }
  bench_.announce("");
  return done();
}

}  // namespace kernelift::sandbox
