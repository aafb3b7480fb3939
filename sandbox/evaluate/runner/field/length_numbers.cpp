// See length_numbers.h.
#include "sandbox/evaluate/runner/field/length_numbers.h"

#include <algorithm>
#include <limits>

#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/evaluate/runner/sizes/sized_launch.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kWord = FieldObject::kWord;

LengthAnswer unknown(std::string why) {
  LengthAnswer answer;
  answer.why_not = std::move(why);
  return answer;
}

/// What stands beside the floats of a lane; nothing of one that is not of single precision, or lies across words.
BesideLane beside(const ElementLayout& layout, size_t lane, const FieldObject& object, uint64_t size,
                  std::span<const uint64_t> precise, std::span<const uint64_t> errors) {
  const Lane& of = layout.lanes[lane];
  BesideLane made;
  if (!of.type.is_float() || of.type.width != kWord || (object.begin + of.offset) % kWord != 0 ||
      layout.stride % kWord != 0)
    return made;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  size_t element = 0, known = 0;  // `known`: of made.elements, up to the last that is.
  for (uint64_t at = of.offset; at + kWord <= size; at += layout.stride, ++element) {
    const uint64_t word = (object.begin % kWord + at) / kWord;
    const auto value = cpu::number_beside_float(precise[word]), error = cpu::number_beside_float(errors[word]);
    if (value && error && made.elements.empty()) made.first = element;
    else if (made.elements.empty()) continue;
    made.elements.push_back({value.value_or(kUnknown), error.value_or(kUnknown)});
    if (value && error) known = made.elements.size();
  }
  made.elements.resize(known);
  return made;
}

}  // namespace

void LengthNumbers::prepare(const RunnableCode& code) {
  auto load = [&](std::optional<LoadedCode>& into, const std::string& image) {
    if (into || image.empty()) return;
    RunnableCode wanted;
    wanted.image = image;
    if (into.emplace().load(bench_.device, *bench_.memory, bench_.mep, wanted)) into.reset();
  };
  load(precise_, code.precise), load(errors_, code.error_bounds);
}

LengthAnswer LengthNumbers::run(const ReplayInstance& memory, const std::vector<size_t>& wanted, const Launch& launch) {
  if (!precise_ || !errors_) return unknown("the original does not load for it");
  if (uint64_t bytes = recorded_bytes(memory); bytes > kMostFieldBytes)
    return unknown("its recorded memory has " + std::to_string(bytes >> 20) + " MiB");
  auto ended = [&](const FieldLaunch& launched) {
    LengthAnswer answer = unknown("the original: " + launched.failure);
    answer.later = launched.no_time;
    return answer;
  };
  const FieldLaunch precise = launch(*precise_, NumberKind::Precise);
  if (!precise.failure.empty()) return ended(precise);
  const FieldLaunch errors = launch(*errors_, NumberKind::ErrorBounds);
  if (!errors.failure.empty()) return ended(errors);
  LengthAnswer answer;
  for (size_t index : wanted) {
    if (index >= memory.regions.size()) continue;
    const ReplayBuffer& region = memory.regions[index];
    LengthAnswer::Region& made = answer.regions.emplace_back(LengthAnswer::Region{index, {}});
    for (size_t lane = 0; lane < region.bounds.layout.lanes.size(); ++lane)
      made.lanes.push_back(beside(region.bounds.layout, lane, precise.objects[index], region.size,
                                  precise.states_of(index), errors.states_of(index)));
  }
  return answer;
}

LengthAnswer LengthNumbers::of(MemoryEntry entry, const std::vector<size_t>& wanted) {
  // A copy: entries may move.
  const ReplayInstance memory = bench_.memory->instances()[entry.memory];
  return run(memory, wanted, [&](LoadedCode& code, NumberKind numbers) {
    return launch_with_numbers(bench_, code, entry, {.objects = {}, .numbers = numbers});
  });
}

LengthAnswer LengthNumbers::of(const SizedInstance& sized, const ReplayInstance& memory,
                               const std::vector<size_t>& wanted) {
  return run(memory, wanted, [&](LoadedCode& code, NumberKind numbers) {
    FieldLaunch made;
    auto failed = launch_as(bench_, sized, memory, {}, code, [&](MemoryEntry entry) {
      made = launch_with_numbers(bench_, code, entry, {.objects = {}, .numbers = numbers});
    });
    if (failed) made.failure = failed->detail, made.no_time = bench_.ended();
    return made;
  });
}

LengthAnswer LengthNumbers::of(const LengthQuestion& question) {
  const auto& instances = bench_.mep.instances;
  const auto found = std::ranges::find(instances, question.instance, &MepInstance::id);
  if (found == instances.end()) return unknown("its recorded inputs take too much memory");
  const auto instance = static_cast<size_t>(found - instances.begin());
  if (question.sized) {
    SizedInstance sized = *question.sized;
    sized.instance = instance;
    auto memory = memory_of(bench_, sized);
    if (!memory.ok()) return unknown("there is not enough memory for it");
    return of(sized, memory->instance, question.wanted);
  }
  ReplayInstance made = bench_.memory->instances()[instance];
  std::vector<DeviceMemory> placed;
  // False: there is not enough memory, or the buffer has another size.
  auto lay = [&](const std::vector<LengthQuestion::Contents>& contents, std::vector<ReplayBuffer>& buffers) {
    return std::ranges::all_of(contents, [&](auto& one) {
      if (one.index >= buffers.size() || one.bytes.size() != buffers[one.index].size) return false;
      auto memory = bench_.device.place(0, std::max<uint64_t>(one.bytes.size(), 1), Reach::Hidden);
      if (!memory.ok() || !bench_.device.write(memory->address, std::as_bytes(std::span(one.bytes))).ok()) return false;
      buffers[one.index].given = memory->address;
      placed.push_back(std::move(*memory));
      return true;
    });
  };
  if (!lay(question.regions, made.regions) || !lay(question.variables, made.variables))
    return unknown("there is not enough memory for it");
  auto& entries = bench_.memory->instances();
  const MemoryEntry entry{entries.size(), instance};
  entries.push_back(std::move(made));
  LengthAnswer answer = of(entry, question.wanted);
  entries.pop_back();
  bench_.memory->launched(instance, true);  // The addresses of its inputs may be another's soon.
  return answer;
}

}  // namespace kernelift::sandbox
