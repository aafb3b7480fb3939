// See sized_launch.h.
#include "sandbox/evaluate/runner/sizes/sized_launch.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/base/bytes.h"

namespace kernelift::sandbox {

namespace {

constexpr uint64_t kGuardBytes = 64 << 10;  // Bytes of canary on either side of memory that has grown.

/// The bytes, and behind them elements that are drawn from them.
std::vector<std::byte> with_more_like_them(std::vector<std::byte> bytes, uint64_t size, uint32_t stride) {
  const uint64_t elements = bytes.size() / stride;
  uint64_t drawn = size;
  for (uint64_t at = elements * stride; elements > 0 && at < size; at += stride) {
    drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;  // Knuth's MMIX generator.
    const std::byte* from = &bytes[(drawn >> 33) % elements * stride];
    bytes.resize(at);
    bytes.insert(bytes.end(), from, from + stride);
  }
  bytes.resize(size);
  return bytes;
}

/// The places in the arguments that hold addresses of the region, by address, in the order of the arguments.
std::vector<std::vector<size_t>> pointers_into(const ReplayBuffer& region, std::span<const std::byte> arguments) {
  std::vector<std::vector<size_t>> found;
  for (size_t at = 0; at + sizeof(uint64_t) <= arguments.size(); at += sizeof(uint64_t)) {
    const uint64_t address = word_at(arguments, at);
    if (address < region.live || address >= region.live + region.size) continue;
    auto same = std::ranges::find_if(found, [&](auto& places) { return word_at(arguments, places[0]) == address; });
    if (same == found.end()) found.push_back({at});
    else same->push_back(at);
  }
  return found;
}

/// Arrays that share an allocation lie as far apart in it as the recorded size asks for, and at larger sizes would run
/// into each other as they do in no application: each address that the launch is given gets a copy of its own.
Status grow(const Workbench& bench, double growth, SizedMemory& made) {
  ReplayInstance& instance = made.instance;
  std::vector<ReplayBuffer> grown;
  for (auto& region : instance.regions) {
    const uint64_t stride = region.bounds.layout.stride;
    const auto elements = static_cast<uint64_t>(growth * static_cast<double>(region.size / stride)) + 1;
    std::vector<std::byte> bytes(region.size);
    KERNELIFT_TRY(bench.device.read(region.given, bytes));
    bytes = with_more_like_them(std::move(bytes), elements * stride, static_cast<uint32_t>(stride));
    KERNELIFT_ASSIGN(DeviceMemory given, bench.device.place(0, bytes.size(), Reach::Hidden));
    KERNELIFT_TRY(bench.device.write(given.address, bytes));
    auto pointers = pointers_into(region, instance.arguments);
    if (pointers.empty()) pointers.push_back({});
    for (auto& places : pointers) {
      KERNELIFT_ASSIGN(DeviceMemory live, bench.device.place(0, kGuardBytes + bytes.size() + kGuardBytes));
      ReplayBuffer& copy = grown.emplace_back(region);
      copy.live = live.address + kGuardBytes, copy.size = bytes.size();
      copy.given = copy.answer = given.address, copy.veiled = false;
      copy.rows = rows_of(region.bounds.layout, copy.size);
      copy.states.clear(), copy.range_count = 0;
      for (size_t at : places) {
        const uint64_t moved = word_at(instance.arguments, at) - region.live + copy.live;
        std::memcpy(&instance.arguments[at], &moved, sizeof moved);
      }
      instance.canaries.push_back({live.address, copy.live});
      instance.canaries.push_back({copy.live + copy.size, live.address + live.size});
      made.placed.push_back(std::move(live));
    }
    made.placed.push_back(std::move(given));
  }
  instance.regions = std::move(grown);
  return done();
}

}  // namespace

Result<SizedMemory> memory_of(const Workbench& bench, const SizedInstance& sized) {
  const MepInstance& recorded = bench.mep.instances[sized.instance];
  SizedMemory memory{bench.memory->instances()[sized.instance], {}};
  ReplayInstance& made = memory.instance;
  for (auto* buffers : {&made.regions, &made.variables})
    for (auto& buffer : *buffers) buffer.bounds.forget_answer();
  if (sized.growth > 1) KERNELIFT_TRY(grow(bench, sized.growth, memory));
  auto at = [&](size_t parameter) { return recorded.parameters[parameter].offset; };
  for (auto [parameter, value] : sized.values)
    std::memcpy(&made.arguments[at(parameter)], &value, recorded.parameters[parameter].size);
  for (auto& part : sized.parts) std::memcpy(&made.arguments[part.offset], &part.value, part.bytes);
  for (auto [parameter, other] : sized.same)
    std::memcpy(&made.arguments[at(parameter)], &made.arguments[at(other)], sizeof(uint64_t));
  for (auto [parameter, bytes] : sized.moved) {
    const uint64_t address = word_at(made.arguments, at(parameter)) + static_cast<uint64_t>(bytes);
    std::memcpy(&made.arguments[at(parameter)], &address, sizeof address);
  }
  return memory;
}

std::optional<RunFailure> launch_as(Workbench& bench, const SizedInstance& sized, ReplayInstance memory,
                                    const RunnableCode& wanted, LoadedCode& code,
                                    const std::function<void(MemoryEntry)>& work) {
  MepInstance recorded = bench.mep.instances[sized.instance];
  recorded.geometry = sized.geometry;
  auto added = code.add(bench.device, memory, bench.mep, recorded, wanted);
  if (auto* failure = std::get_if<RunFailure>(&added)) return *failure;
  auto& entries = bench.memory->instances();
  const MemoryEntry entry{entries.size(), std::get<size_t>(added)};
  entries.push_back(std::move(memory));
  work(entry);
  // The next entry at this index is another one.
  bench.memory->launched(entry.memory, true);
  entries.pop_back(), code.drop_added();
  return std::nullopt;
}

}  // namespace kernelift::sandbox
