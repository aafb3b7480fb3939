// The C ABI between the CPU device's CUDA runtime library and the recorder. The runtime dlopens the library named by
// $KERNELIFT_RECORDER at its first use and calls kernelift_recorder_attach; without the variable it costs one null
// check per launch. Calls come from the application's own threads, serialised by the runtime.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "core/toolchain/image_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KL_RECORD_HOOKS_VERSION 2

enum kl_memory_kind {
  KL_MEMORY_DEVICE = 0,
  KL_MEMORY_MANAGED = 1,
  KL_MEMORY_HOST_MAPPED = 2,
  KL_MEMORY_ARRAY = 3,   ///< The texels of a CUDA array.
  KL_MEMORY_TEXTURE = 4  ///< A kl_texture (texture_object.h).
};

typedef struct kl_allocation {
  uint64_t address, size;  ///< As requested by the application.
  uint32_t kind;           ///< enum kl_memory_kind
} kl_allocation;

/// One kernel launch, valid during the call only.
typedef struct kl_record_launch {
  const kl_kernel* kernel;
  const kl_image* image;  ///< Its module, with the name and address of every variable.
  const void* fat_blob;   ///< The registered blob that holds it (core/toolchain/fat_blob.h), or null.
  kl_dim3 grid, block;
  uint32_t dynamic_shared_bytes;
  uint32_t cooperative;
  const void* arguments;  ///< Packed parameters, kl_kernel::parameter_bytes long.
  uint64_t stream;        ///< 0: the default stream.
} kl_record_launch;

/// The functions that the runtime offers to the recorder.
typedef struct kl_runtime_view {
  uint32_t version;
  /// Writes up to `capacity` live allocations, ordered by address; returns the number of live allocations.
  size_t (*allocations)(kl_allocation* out, size_t capacity);
  /// Returns when no launched work is running.
  void (*synchronize)(void);
} kl_runtime_view;

/// The functions that the recorder offers to the runtime.
typedef struct kl_recorder {
  uint32_t version;
  void (*launch_begin)(const kl_record_launch*);
  void (*launch_end)(const kl_record_launch*, double seconds);  ///< `seconds` below 0: the launch failed.
  void (*shutdown)(void);  ///< Called at process exit, before the runtime frees memory.
} kl_recorder;

/// Exported by the recorder library; null means: do not record.
typedef const kl_recorder* (*kl_recorder_attach_function)(const kl_runtime_view*);
#define KL_RECORDER_ATTACH "kernelift_recorder_attach"

#ifdef __cplusplus
}
#endif
