// The C ABI between lowered device code and its executor. A kernel image for the CPU device is an ELF shared object
// that exports one symbol, `kernelift_image`, of type kl_image. The CUDA runtime library inside an application, the
// sandbox's runner and the tests use the same image: it is the CPU device's equivalent of a cubin.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KL_IMAGE_MAGIC 0x314547414d494c4bull /* "KLIMAGE1" */
#define KL_IMAGE_VERSION 6

/// How a kernel's threads are executed.
enum kl_mode {
  KL_MODE_LOOP = 0,     ///< No thread waits for another: a block is one loop over its threads.
  KL_MODE_CUT = 1,      ///< Cut at barriers and warp operations, with a loop over threads for each part between them.
  KL_MODE_FIBER = 2,    ///< Threads are fibers that switch at barriers, warp operations and in spin loops.
  KL_MODE_REFUSED = 3,  ///< It uses a feature that the CPU device lacks, named in mode_reason; `run` is null.
};

typedef struct kl_dim3 {
  uint32_t x, y, z;
} kl_dim3;

/// One launch, the same for all of its blocks.
typedef struct kl_launch {
  kl_dim3 grid, block;
  uint32_t dynamic_shared_bytes;
  const void* arguments;  ///< Packed parameters, kl_kernel::parameter_bytes long.
  const struct kl_services* services;
  void* executor;  ///< The executor's own data.
} kl_launch;

typedef struct kl_parameter {
  uint32_t offset, size;
} kl_parameter;

/// The executor's functions that an image calls; the executor sets kl_image::services before the first launch.
struct kl_services;
/// One running block; opaque here, laid out in block_context.h.
struct kl_block;

typedef struct kl_kernel {
  const char* name;               ///< Mangled name, as in the device IR.
  void (*run)(struct kl_block*);  ///< LOOP, CUT: runs the whole block. FIBER: runs one thread, on its own stack.
  uint32_t mode;                  ///< enum kl_mode.
  const char* mode_reason;        ///< Why the mode is not LOOP, for people ("__shfl_sync at file.cu:31").
  uint32_t parameter_count, parameter_bytes;
  const kl_parameter* parameters;
  uint32_t static_shared_bytes;
  uint32_t frame_bytes;  ///< CUT: bytes per thread that are kept across barriers.
  uint32_t stack_bytes;  ///< FIBER: bytes of stack per thread; 0 if there is no bound.
  uint32_t max_threads;  ///< __launch_bounds__, 0 if absent.
  uint32_t flags;        ///< KL_USES_GRID_SYNC …
} kl_kernel;

enum {
  KL_USES_GRID_SYNC = 1,
  KL_MAY_SPIN = 2,
  /// Images for field runs: atomics, fences or volatile accesses, by which blocks may depend on each other's results.
  KL_ORDERS_BLOCKS = 4
};

typedef struct kl_variable {
  const char* name;
  void* address;
  uint64_t size;
  uint32_t flags;  ///< KL_VARIABLE_CONSTANT, KL_VARIABLE_MANAGED
  uint32_t room;   ///< Bytes directly before and behind it that belong to it alone; 0: others may lie there.
} kl_variable;
enum { KL_VARIABLE_CONSTANT = 1, KL_VARIABLE_MANAGED = 2 };

/// A basic block of the source in an image for check mode.
typedef struct kl_code_block {
  uint32_t line, column;  ///< Of its first statement or expression.
  uint32_t entry;         ///< Index of the block with which its function begins.
} kl_code_block;

typedef struct kl_image {
  uint64_t magic;
  uint32_t version;
  uint32_t kernel_count, variable_count;
  /// Architecture of the device code, 75 for sm_75: libraries choose by it how they launch. 0: not known.
  uint32_t architecture;
  const kl_kernel* kernels;
  const kl_variable* variables;
  const struct kl_services** services;
  /// Images for check mode: blocks of the main source file, and for each a byte that is 1 once a thread has come there.
  const kl_code_block* code_blocks;
  const uint8_t* reached;
  uint32_t code_block_count;
} kl_image;

#ifdef __cplusplus
}
#endif
