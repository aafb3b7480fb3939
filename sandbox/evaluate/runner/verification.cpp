// See verification.h.
#include "sandbox/evaluate/runner/verification.h"

#include <algorithm>
#include <cstdio>

#include "sandbox/jail/hidden_bytes.h"

namespace kernelift::sandbox {

Verification::Judged Verification::run(const LoadedCode& code, MemoryEntry entry, Manner manner) {
  Judged judged;
  const ReplayInstance& instance = bench_.memory->instances()[entry.memory];
  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, entry.memory, manner.before == Before::Poisoned);
  if (manner.before == Before::Stale) bench_.memory->make_stale(steps, entry.memory, entry.instance);
  if (manner.reordered) steps.set_reordered();
  if (manner.checked) {
    CheckedExtents extents = bench_.memory->extents(entry.memory);
    code.add_extents(extents, entry.instance);
    extents.follow_all_reads = manner.follows_all_reads;
    steps.set_check(std::move(extents));
  }
  code.set_up(steps, instance, entry.instance, manner.keeps_own ? LoadedCode::Reset::Recorded : LoadedCode::Reset::All);
  steps.begin();
  code.launch(steps, entry.instance);
  steps.end();
  code.take_down(steps, entry.instance);
  size_t rows = 1;
  for (auto* buffers : {&instance.regions, &instance.variables})
    for (auto& buffer : *buffers) rows += buffer.rows.size();
  if (rows > JudgingKernels::kFindings) {
    judged.failure = RunFailure{Outcome::Refused, "its buffers have " + std::to_string(rows) + " fields; at most " +
                                                      std::to_string(JudgingKernels::kFindings) + " can be compared"};
    return judged;
  }
  steps.clear_findings(rows);
  size_t at = bench_.memory->compare(steps, entry.memory);
  code.check_canaries(steps, entry.instance);
  for (size_t v = 0; v < instance.variables.size(); ++v) {
    const ReplayBuffer& variable = instance.variables[v];
    for (size_t row = 0; row < variable.rows.size(); ++row, ++at)
      // A variable that the image does not have keeps its recorded value.
      steps.compare(variable.rows[row], variable.tolerance(row), variable.answer,
                    code.variable(entry.instance, v) ? code.variable(entry.instance, v) : variable.given, at,
                    variable.veiled);
  }
  DeviceOutcome outcome = steps.run(manner.limit.value_or(bench_.settings.launch_limit));
  judged.findings = std::move(outcome.findings), judged.not_checked = std::move(outcome.not_checked);
  judged.unreached = std::move(outcome.unreached);
  if (!outcome.ok()) {
    judged.failure = bench_.failure_of(outcome, entry.memory);
    return judged;
  }
  bench_.memory->launched(entry.memory, false);
  judged.seconds = bench_.kernels->net(outcome.seconds[0]);
  auto found = bench_.kernels->read_findings(rows);
  if (!found.ok()) {
    judged.failure = RunFailure{Outcome::Crashed, found.error().message}, bench_.usable = false;
    return judged;
  }
  if (found->front().address != judging::kNone) {
    bench_.memory->launched(entry.memory, true);
    std::string where = code.near_own_memory(entry.instance, found->front().address);
    judged.failure =
        RunFailure{Outcome::WroteOutside,
                   where.empty() ? bench_.memory->neighbourhood(entry.memory, found->front().address) : where, true};
    return judged;
  }
  for (auto& finding : *found)
    judged.largest_ulps = std::max(judged.largest_ulps, judging::from_bits(finding.largest_ulps));
  bool clean = std::all_of(found->begin(), found->end(), [](auto& finding) { return finding.mismatches == 0; });
  if (!clean) bench_.memory->launched(entry.memory, true);
  size_t next = 1;
  for (size_t i = 0; i < instance.regions.size(); ++i)
    for (size_t row = 0; row < instance.regions[i].rows.size(); ++row)
      if ((*found)[next++].largest_ulps != 0) bench_.memory->altered(entry.memory, i), judged.altered.insert(i);
  if (clean && !manner.detailed) return judged;
  if (auto described = describe(code, entry, *found, judged); !described.ok())
    judged.failure = RunFailure{Outcome::Crashed, described.error().message}, bench_.usable = false;
  return judged;
}

std::optional<Mismatch> Verification::first_mismatch(const ReplayBuffer& buffer, size_t row_index, uint64_t live,
                                                     uint64_t index) {
  const Row& row = buffer.rows[row_index];
  uint64_t each = judging::kNeighbourhoodBytes / row.type.width, begin = index / each * each;
  uint64_t count = std::min(each, row.count - begin), bytes = (count - 1) * row.stride + row.type.width;
  HiddenBytes expected(bytes), left(count * row.type.width);
  std::vector<std::byte> got(bytes), right(count * row.type.width);
  uint64_t offset = row.offset + begin * row.stride;
  if (!read_answer(bench_.device, buffer, offset, expected.bytes()).ok() ||
      !bench_.device.read(live + offset, got).ok())
    return std::nullopt;
  for (uint64_t i = 0; i < count; ++i) {
    std::copy_n(&expected.bytes()[i * row.stride], row.type.width, &left.bytes()[i * row.type.width]);
    std::copy_n(&got[i * row.stride], row.type.width, &right[i * row.type.width]);
  }
  Comparison comparison = Comparator(row.type, buffer.tolerance(row_index)).compare(left.bytes(), right);
  if (!comparison.first) return std::nullopt;
  Mismatch first = *comparison.first;
  first.index += begin, first.offset = row.offset + first.index * row.stride;
  const auto& lanes = buffer.bounds.layout.lanes;
  if (row_index < lanes.size() && lanes[row_index].offset > 0)
    first.got += " at byte " + std::to_string(lanes[row_index].offset) + " of the element";
  return first;
}

std::optional<Mismatch> Verification::find_mismatch(const ReplayBuffer& buffer, size_t row, uint64_t live) {
  Steps steps(*bench_.kernels);
  steps.clear_findings(1);
  steps.compare(buffer.rows[row], buffer.tolerance(row), buffer.answer, live, 0, buffer.veiled);
  if (!steps.run(bench_.settings.launch_limit).ok()) return std::nullopt;
  auto found = bench_.kernels->read_findings(1);
  if (!found.ok() || found->front().mismatches == 0) return std::nullopt;
  last_wrong_ += found->front().mismatches, last_compared_ += buffer.rows[row].count;
  return first_mismatch(buffer, row, live, found->front().first);
}

bool Verification::is_nearer(const ReplayBuffer& buffer, uint64_t live) {
  const bool held_to_length = bench_.inquiry.held_to_length && !buffer.bounds.by_length.empty();
  if (buffer.bounds.nearer.empty() && buffer.bounds.unsteady.empty() && !held_to_length) return false;
  HiddenBytes answer(buffer.size);
  std::vector<std::byte> got(buffer.size);
  if (!read_answer(bench_.device, buffer, 0, answer.bytes()).ok() || !bench_.device.read(live, got).ok()) return false;
  return buffer.bounds.compare(answer.bytes(), got, held_to_length).ok();
}

Status Verification::describe(const LoadedCode& code, MemoryEntry entry, const std::vector<judging::Finding>& found,
                              Judged& judged) {
  const ReplayInstance& instance = bench_.memory->instances()[entry.memory];
  size_t at = 1;
  auto report = [&](const ReplayBuffer& buffer, uint64_t live) {
    BufferReport made;
    made.name = buffer.name, made.bytes = buffer.size, made.changed = buffer.changed(),
    made.tolerance = buffer.bounds.text();
    made.written = made.changed;
    uint64_t mismatches = 0, elements = 0;
    std::optional<Mismatch> first;
    double worst = 0;
    for (size_t row = 0; row < buffer.rows.size(); ++row, ++at) {
      elements += buffer.rows[row].count;
      const judging::Finding& finding = found[at];
      made.exact &= finding.mismatches == 0 && finding.largest_ulps == 0;
      if (finding.mismatches == 0) continue;
      mismatches += finding.mismatches;
      worst = std::max<double>(worst, judging::float_from_bits(static_cast<uint32_t>(finding.worst >> 32) - 1));
      auto mismatch = first_mismatch(buffer, row, live, finding.first);
      if (mismatch && (!first || mismatch->offset < first->offset)) first = mismatch;
    }
    if (mismatches > 0 && !is_nearer(buffer, live)) {
      char text[256];
      std::snprintf(
          text, sizeof text, "%llu of %llu elements differ; first [%llu] expected %s, got %s; furthest by %.4g",
          (unsigned long long)mismatches, (unsigned long long)elements, first ? (unsigned long long)first->index : 0,
          first ? first->expected.c_str() : "?", first ? first->got.c_str() : "?", worst);
      made.pass = false, made.detail = text;
      last_wrong_ += mismatches, last_compared_ += elements;
      if (!judged.first) judged.first = first.value_or(Mismatch{}), judged.bad_buffer = judged.buffers.size();
    }
    judged.buffers.push_back(std::move(made));
  };
  for (auto& region : instance.regions) report(region, region.live);
  for (size_t v = 0; v < instance.variables.size(); ++v) {
    uint64_t own = code.variable(entry.instance, v);
    report(instance.variables[v], own ? own : instance.variables[v].given);
  }
  return done();
}

bool Verification::few_differ() const {
  constexpr uint64_t kMost = 8, kOneOf = 10'000;
  return last_wrong_ > 0 && last_wrong_ <= kMost && last_wrong_ * kOneOf <= last_compared_;
}

bool Verification::verify(const LoadedCode& code, MemoryEntry entry, Stage stage, Verdict& verdict, Manner manner) {
  count_afresh();
  Judged judged = run(code, entry, manner);
  if (!judged.failure && judged.first && length_bounds_.find(entry)) {
    count_afresh();
    judged = run(code, entry, manner);
  }
  last_seconds_ = judged.seconds;
  verdict.largest_ulps = std::max(verdict.largest_ulps.value_or(0), judged.largest_ulps);
  if (!judged.failure && !judged.first) return true;
  verdict.stage = stage, verdict.instance = bench_.mep.instances[entry.instance].id;
  if (judged.failure) {
    verdict.outcome = judged.failure->outcome, verdict.detail = judged.failure->detail;
    if (verdict.outcome == Outcome::LaunchFailed || verdict.outcome == Outcome::OverResources ||
        verdict.outcome == Outcome::Refused)
      verdict.stage = Stage::Launch;
    return false;
  }
  const BufferReport& buffer = judged.buffers[judged.bad_buffer];
  verdict.outcome = Outcome::Wrong, verdict.buffer = buffer.name;
  verdict.index = judged.first->index, verdict.expected = judged.first->expected, verdict.got = judged.first->got;
  verdict.distance = judged.first->distance;
  auto& regions = bench_.memory->instances()[entry.memory].regions;
  bool written = judged.bad_buffer < regions.size() ? regions[judged.bad_buffer].output() : buffer.changed;
  verdict.detail = buffer.detail.substr(0, buffer.detail.find(';')) +
                   (buffer.tolerance == "exact"   ? ""
                    : judged.first->distance == 0 ? " in the sign of a zero"
                                                  : " by more than " + buffer.tolerance) +
                   (written ? "" : "; the original does not write this buffer");
  return false;
}

}  // namespace kernelift::sandbox
