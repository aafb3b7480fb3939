// Cuts a kernel where its threads wait: at barriers and, if it has any, at warp operations and lockstep points. A
// region is what one thread runs from such a place (or the kernel's start) to the next it meets (or the end); each
// becomes a function that returns which one that was. Values that a later region needs are kept per thread in a frame
// laid out as frame[slot][thread], so that loops over threads read them with unit stride; cheap ones are computed
// again.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Where a kernel was cut. Suspension i (from 1) resumes in region i; 0 means that the thread has ended.
struct Suspension {
  llvm::BasicBlock* at = nullptr;  ///< Ends by branching to `resume`.
  llvm::BasicBlock* resume = nullptr;
  unsigned wait = 0;  ///< kl_wait; a kernel that is not cut into warps has barriers only.
  unsigned op = 0;    ///< kl_barrier_op or kl_warp_op.
  llvm::ConstantInt *mask = nullptr, *operand = nullptr;  ///< Where all lanes have the same.
  std::string place;                                      ///< "kernel.cu:12"
  /// Check mode: the kl_site of a barrier that the block tells of, once for all of its threads.
  llvm::GlobalVariable* check_site = nullptr;
};

constexpr unsigned kPredicateBit = 16;  ///< Of a region's answer: a barrier's predicate.

struct Region {
  /// i32 (thread, frame, frame stride, linear, barrier answer, parameters…): suspension in the low 16 bits,
  /// the barrier's predicate in kPredicateBit.
  llvm::Function* function = nullptr;
  std::vector<unsigned> exits;  ///< Suspensions it can return, sorted; 0 first if the thread can end here.
  bool parallel = false;        ///< All memory accesses carry `group`: threads do not depend on each other.
  llvm::MDNode* group = nullptr;
};

struct CutKernel {
  std::vector<Suspension> suspensions;  ///< [0] is unused.
  std::vector<Region> regions;          ///< regions[i] starts after suspension i; regions[0] is the start.
  uint64_t frame_bytes = 0;             ///< Per thread.
  bool warps = false;                   ///< Cut at warp operations too: run_warps() (executor) leads the threads.
  uint64_t suspended_row = 0, mask_row = 0, value_row = 0, operand_row = 0, answer_row = 0;  ///< As kl_warp_plan's.
};

/// The most regions a kernel is cut into; beyond, code would grow too much and fibers serve it.
constexpr unsigned kMaxSuspensions = 60, kMaxWarpSuspensions = 160;

/// Consumes the kernel's body (it is left without uses).
CutKernel cut_kernel(Kernel& kernel);

}  // namespace kernelift::cpu
