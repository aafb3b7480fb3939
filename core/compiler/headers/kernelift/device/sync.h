// Barriers, fences, clocks and sleeping. __syncthreads() itself is a builtin of clang's CUDA mode.
#pragma once
#define KL_DEVICE static __device__ __forceinline__

KL_DEVICE void __barrier_sync(unsigned id) { __nvvm_barrier_sync(id); }
KL_DEVICE void __barrier_sync_count(unsigned id, unsigned count) { __nvvm_barrier_sync_cnt(id, count); }
KL_DEVICE void __nanosleep(unsigned int nanoseconds) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  __nvvm_nanosleep(nanoseconds);
#endif
}
KL_DEVICE unsigned long long __globaltimer() { return __nvvm_read_ptx_sreg_globaltimer(); }
// Between a kernel and the one launched before it; clang has no builtins for them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
KL_DEVICE void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
KL_DEVICE void cudaTriggerProgrammaticLaunchCompletion() { asm volatile("griddepcontrol.launch_dependents;"); }
#else
KL_DEVICE void cudaGridDependencySynchronize() {}
KL_DEVICE void cudaTriggerProgrammaticLaunchCompletion() {}
#endif

#undef KL_DEVICE
