// See length_bounds.h.
#include "sandbox/evaluate/runner/field/length_bounds.h"

#include <algorithm>
#include <limits>

#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargest = 16 << 20;  // Bytes of a region with bounds: a reduction's results are few.
constexpr uint64_t kWord = FieldObject::kWord;

/// What stands beside the floats of a lane; nothing of one that is not of single precision, or lies across words.
std::vector<BesideElement> beside(const ElementLayout& layout, size_t lane, const FieldObject& object, uint64_t size,
                                  std::span<const uint64_t> precise, std::span<const uint64_t> errors) {
  const Lane& of = layout.lanes[lane];
  std::vector<BesideElement> made;
  if (!of.type.is_float() || of.type.width != kWord || (object.begin + of.offset) % kWord != 0 ||
      layout.stride % kWord != 0)
    return made;
  for (uint64_t at = of.offset; at + kWord <= size; at += layout.stride) {
    const uint64_t word = (object.begin % kWord + at) / kWord;
    const auto value = cpu::number_beside_float(precise[word]), error = cpu::number_beside_float(errors[word]);
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    made.push_back({value.value_or(kUnknown), error.value_or(kUnknown)});
  }
  return made;
}

}  // namespace

void LengthBounds::prepare(const RunnableCode& code) {
  auto load = [&](std::optional<LoadedCode>& into, const std::string& image) {
    if (into || image.empty()) return;
    RunnableCode wanted;
    wanted.image = image;
    if (into.emplace().load(bench_.device, *bench_.memory, bench_.mep, wanted)) into.reset();
  };
  load(precise_, code.precise), load(errors_, code.error_bounds);
}

void LengthBounds::find(MemoryEntry entry) {
  // By index: entries may move.
  ReplayInstance memory = bench_.memory->instances()[entry.memory];
  find(memory, [&](LoadedCode& code, NumberKind numbers) {
    return launch_with_numbers(bench_, code, entry, {.objects = {}, .numbers = numbers});
  });
  bench_.memory->instances()[entry.memory] = std::move(memory);
}

void LengthBounds::find(ReplayInstance& memory, const Launch& launch) {
  auto wants = [](const ReplayBuffer& region) {
    return region.output() && region.bounds.layout.has_floats() && region.size <= kLargest;
  };
  if (!precise_ || !errors_ || bench_.user_tolerance() || recorded_bytes(memory) > kMostFieldBytes) return;
  if (std::ranges::none_of(memory.regions, wants) ||
      std::ranges::any_of(memory.regions, [](auto& region) { return !region.bounds.by_length.empty(); }))
    return;
  const FieldLaunch precise = launch(*precise_, NumberKind::Precise);
  if (!precise.failure.empty()) return;
  const FieldLaunch errors = launch(*errors_, NumberKind::ErrorBounds);
  if (!errors.failure.empty()) return;
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    ReplayBuffer& region = memory.regions[i];
    HiddenBytes answer(wants(region) ? region.size : 0);
    if (!wants(region) || !read_answer(bench_.device, region, 0, answer.bytes()).ok()) continue;
    const ElementLayout& layout = region.bounds.layout;
    std::vector<std::byte> lane_of;
    for (size_t lane = 0; lane < layout.lanes.size(); ++lane) {
      const auto elements =
          beside(layout, lane, precise.objects[i], region.size, precise.states_of(i), errors.states_of(i));
      std::shared_ptr<LengthBound> bound;
      if (!elements.empty()) {
        const uint64_t whole = region.size / layout.stride * layout.stride;
        auto reference = layout.plain() ? std::span<const std::byte>(answer.bytes())
                                        : lane_bytes(layout, lane, answer.bytes().first(whole), lane_of);
        bound = std::make_shared<LengthBound>(reference, std::span(elements).first(reference.size() / kWord));
      }
      region.bounds.by_length.push_back(bound && bound->any() ? bound : nullptr);
    }
  }
}

}  // namespace kernelift::sandbox
