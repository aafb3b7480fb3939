// What is said of a device's limits.
#include "sandbox/evaluate/device_limits.h"

#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

TEST(DeviceLimits, OfAGpuNameWhatAMultiprocessorHoldsAndABlockMayHave) {
  DeviceFacts facts;
  facts.multiprocessors = 132, facts.threads_per_multiprocessor = 2048, facts.blocks_per_multiprocessor = 32;
  facts.registers_per_multiprocessor = 65536, facts.shared_per_multiprocessor = 228 << 10;
  facts.shared_per_block_optin = 227 << 10, facts.cache_bytes = 50 << 20, facts.memory_bytes = 140ull << 30;
  EXPECT_EQ(limits_text(facts),
            "132 multiprocessors, each with room for 2048 threads in at most 32 blocks, 65536 registers and 228 KiB of "
            "shared memory; a block: at most 1024 threads and 227 KiB of shared memory, of which 48 KiB may be static; "
            "50 MiB of L2 cache; 140 GiB of memory");
}

TEST(DeviceLimits, OfAProcessorAreItsCoresAndThoseOfABlock) {
  DeviceFacts facts;
  facts.processor = true, facts.cores = 2;
  EXPECT_EQ(limits_text(facts), "2 cores; a block: at most 1024 threads and 48 KiB of shared memory");
}

}  // namespace
}  // namespace kernelift::sandbox
