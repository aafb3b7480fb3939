// See device_limits.h.
#include "sandbox/evaluate/device_limits.h"

#include "core/base/words.h"

namespace kernelift::sandbox {
namespace {

std::string bytes_text(uint64_t bytes) {
  constexpr uint64_t kUnit = 1024;
  const char* names[] = {"bytes", "KiB", "MiB", "GiB"};
  size_t name = 0;
  for (; name + 1 < std::size(names) && bytes >= 2 * kUnit; ++name) bytes /= kUnit;
  return std::to_string(bytes) + " " + names[name];
}

std::string room_text(const DeviceFacts& facts) {
  std::string text = counted(facts.multiprocessors, "multiprocessor") + ", each with room for " +
                     counted(facts.threads_per_multiprocessor, "thread");
  if (facts.blocks_per_multiprocessor > 0) text += " in at most " + counted(facts.blocks_per_multiprocessor, "block");
  if (facts.registers_per_multiprocessor > 0) text += ", " + counted(facts.registers_per_multiprocessor, "register");
  if (facts.shared_per_multiprocessor > 0)
    text += " and " + bytes_text(facts.shared_per_multiprocessor) + " of shared memory";
  return text;
}

}  // namespace

std::string limits_text(const DeviceFacts& facts) {
  std::string text = facts.processor ? counted(facts.cores, "core") : room_text(facts);
  text += "; a block: at most " + counted(facts.max_threads_per_block, "thread") + " and " +
          bytes_text(facts.shared_per_block_optin) + " of shared memory";
  if (facts.shared_per_block < facts.shared_per_block_optin)
    text += ", of which " + bytes_text(facts.shared_per_block) + " may be static";
  if (facts.cache_bytes > 0 && !facts.processor) text += "; " + bytes_text(facts.cache_bytes) + " of L2 cache";
  if (facts.memory_bytes > 0) text += "; " + bytes_text(facts.memory_bytes) + " of memory";
  return text;
}

}  // namespace kernelift::sandbox
