// Makes the function an image exports for a kernel: loops over a block's threads for what was cut, a plain call for
// what runs on fibers.
#pragma once
#include "sandbox/device/cpu/schedule/regions.h"

namespace kernelift::cpu {

/// void run(kl_block*): the whole block, region after region. Sets kernel.run and kernel.frame_bytes.
void build_thread_loops(Kernel& kernel, const CutKernel& cut);
/// void run(kl_block*): one thread, kl_block::current. Sets kernel.run.
void build_fiber_entry(Kernel& kernel);

}  // namespace kernelift::cpu
