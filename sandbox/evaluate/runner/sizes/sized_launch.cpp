// See sized_launch.h.
#include "sandbox/evaluate/runner/sizes/sized_launch.h"

#include <cstring>

#include "core/base/bytes.h"

namespace kernelift::sandbox {

ReplayInstance memory_of(const Workbench& bench, const SizedInstance& sized) {
  const MepInstance& recorded = bench.mep.instances[sized.instance];
  ReplayInstance made = bench.memory->instances()[sized.instance];
  for (auto* buffers : {&made.regions, &made.variables})
    for (auto& buffer : *buffers) buffer.bounds.nearer.clear();  // They belong to the recorded answer.
  auto at = [&](size_t parameter) { return recorded.parameters[parameter].offset; };
  for (auto [parameter, value] : sized.values)
    std::memcpy(&made.arguments[at(parameter)], &value, recorded.parameters[parameter].size);
  for (auto [parameter, other] : sized.same)
    std::memcpy(&made.arguments[at(parameter)], &made.arguments[at(other)], sizeof(uint64_t));
  for (auto [parameter, bytes] : sized.moved) {
    const uint64_t address = word_at(made.arguments, at(parameter)) + static_cast<uint64_t>(bytes);
    std::memcpy(&made.arguments[at(parameter)], &address, sizeof address);
  }
  return made;
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
