// See field_launch.h.
#include "sandbox/evaluate/runner/field/field_launch.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

uint64_t key_of(uint64_t kind, uint64_t number) { return kind << 32 | (number + 1); }

bool has_integers(const ReplayBuffer& buffer) {
  return !buffer.rows.empty() && std::ranges::none_of(buffer.rows, [](const Row& row) {
    return row.type.is_float() || row.type.kind == ElementType::Kind::Bytes;
  });
}

std::vector<FieldObject> objects_of(const Workbench& bench, const LoadedCode& code, MemoryEntry entry) {
  const ReplayInstance& instance = bench.memory->instances()[entry.memory];
  std::vector<FieldObject> all;
  for (size_t i = 0; i < instance.regions.size(); ++i) {
    const ReplayBuffer& region = instance.regions[i];
    all.push_back({{}, region.live, region.size, 0, key_of(1, i), has_integers(region)});
  }
  for (size_t i = 0; i < instance.variables.size(); ++i) {
    const ReplayBuffer& variable = instance.variables[i];
    // One that this code does not have keeps its place, and nothing is written there.
    all.push_back({code.variable_name(entry.instance, i), 0, variable.size, 0, key_of(2, i), has_integers(variable)});
  }
  CheckedExtents own;
  code.add_extents(own, entry.instance);
  for (size_t i = 0; i < own.objects.size(); ++i)
    all.push_back({{}, own.objects[i].begin, own.objects[i].bytes, 0, key_of(3, i)});
  return all;
}

}  // namespace

std::span<const uint64_t> FieldLaunch::states_of(size_t object) const {
  uint64_t at = 0;
  for (size_t i = 0; i < object; ++i) at += objects[i].states_bytes();
  return {reinterpret_cast<const uint64_t*>(states.address + at), objects[object].states_bytes() / sizeof(uint64_t)};
}

uint64_t recorded_bytes(const ReplayInstance& memory) {
  uint64_t bytes = 0;
  for (auto* buffers : {&memory.regions, &memory.variables})
    for (auto& buffer : *buffers) bytes += buffer.size;
  return bytes;
}

FieldLaunch launch_with_numbers(Workbench& bench, const LoadedCode& code, MemoryEntry entry, FieldRequest how) {
  FieldLaunch made;
  made.objects = objects_of(bench, code, entry);
  uint64_t bytes = 0;
  for (auto& object : made.objects) bytes += object.states_bytes();
  auto states = bench.device.place(0, std::max<uint64_t>(bytes, 1));
  if (!states.ok()) return made.failure = states.error().message, std::move(made);
  uint64_t at = states->address;
  for (auto& object : made.objects) object.states = at, at += object.states_bytes();

  Steps steps(*bench.kernels);
  bench.memory->restore(steps, entry.memory, false);
  how.objects = made.objects;
  std::erase_if(how.objects, [](auto& object) { return object.variable.empty() && object.begin == 0; });
  steps.set_field(std::move(how));
  code.set_up(steps, bench.memory->instances()[entry.memory], entry.instance);
  steps.begin();
  code.launch(steps, entry.instance);
  steps.end();
  code.take_down(steps, entry.instance);
  std::chrono::milliseconds limit = kFieldLimit;
  if (bench.inquiry.deadline)
    limit = std::min(
        limit, std::chrono::duration_cast<std::chrono::milliseconds>(*bench.inquiry.deadline - Deadline::clock::now()));
  made.no_time = limit.count() <= 0;
  if (made.no_time) return made.failure = "there was no time left", std::move(made);
  DeviceOutcome outcome = steps.run(limit);
  bench.memory->launched(entry.memory, true);
  if (!outcome.ok()) {
    made.no_time = bench.ended() || (outcome.fault == DeviceFault::TimedOut && limit < kFieldLimit);
    return made.failure = bench.failure_of(outcome, entry.memory).detail, std::move(made);
  }
  made.report = outcome.field;
  // What a candidate might find there would be the answers.
  if (!states->hide || !states->hide()) return made.failure = "its numbers could not be hidden", std::move(made);
  made.states = std::move(*states);
  return made;
}

}  // namespace kernelift::sandbox
