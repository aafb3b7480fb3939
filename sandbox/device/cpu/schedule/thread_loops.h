// Makes the function an image exports for a kernel: loops over a block's threads for what was cut, a plain call for
// what runs on fibers.
#pragma once
#include "sandbox/device/cpu/schedule/regions.h"

namespace kernelift::cpu {

/// void run(kl_block*): the whole block, region after region. Sets kernel.run and kernel.frame_bytes.
void build_thread_loops(Kernel& kernel, const CutKernel& cut);
/// void run(kl_block*): hands a plan (kl_warp_plan) to the executor, which resumes the threads warp by warp
/// (warp_loops.cpp). Sets kernel.run and kernel.frame_bytes.
void build_warp_loops(Kernel& kernel, const CutKernel& cut);
/// void run(kl_block*): one thread, kl_block::current. Sets kernel.run.
void build_fiber_entry(Kernel& kernel);

/// The empty function an image exports for a kernel, and the kernel's parameters as read from the launch.
llvm::Function* create_run(Kernel& kernel);
llvm::SmallVector<llvm::Value*, 8> load_parameters(llvm::IRBuilder<>& builder, const Kernel& kernel,
                                                   llvm::Value* block);
/// Metadata of a loop over threads.
void annotate_thread_loop(llvm::BranchInst* latch, const Region& region);
void tag_with_group(llvm::Instruction* access, const Region& region);

}  // namespace kernelift::cpu
