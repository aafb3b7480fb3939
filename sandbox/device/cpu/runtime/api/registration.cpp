// What clang's host code calls before main: it hands over the fat blob of its translation unit and names every kernel
// and variable in it. The object that our wrappers' device link makes calls the same functions.
#include <cstring>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/recorder.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

struct FatBinaryWrapper {
  uint32_t magic, version;
  const void* data;
  const void* unused;
};
constexpr uint32_t kWrapperMagic = 0x466243b1;

/// nvcc's host code passes a handle by which it finds ours; clang's too. Both only give it back.
Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

}  // namespace

KL_API void** __cudaRegisterFatBinary(const void* wrapper) {
  StateLock lock;
  FatBinaryWrapper head;
  std::memcpy(&head, wrapper, sizeof head);
  if (head.magic != kWrapperMagic)
    explain("a translation unit registers device code of an unknown format (0x%x)", head.magic);
  return reinterpret_cast<void**>(state().registry.add_binary(head.magic == kWrapperMagic ? head.data : nullptr));
}

KL_API void __cudaRegisterFatBinaryEnd(void** handle) {
  StateLock lock;
  state().registry.finish_binary(binary_of(handle));
}

KL_API void __cudaUnregisterFatBinary(void** handle) {
  shut_down_recorder();  // The process ends (or a library is unloaded): the recorder wants its images whole.
  // Launches may be running still, and where a signal's handler called exit() this thread may have been in the middle
  // of anything: the heap, the loader, a call of ours.
  if (process_ends()) return;
  StateLock lock;
  state().registry.remove_binary(binary_of(handle));
}

KL_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*, void*, void*,
                                   void*, int*) {
  StateLock lock;
  state().registry.add_function(binary_of(handle), host, name);
}

KL_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size, int, int) {
  StateLock lock;
  state().registry.add_variable(binary_of(handle), host, name, size);
}

/// A __managed__ variable: host code reaches it through *pointer, device code through a pointer variable of this name.
/// clang's arguments; the memory is made here, so that host code may use it before any kernel runs.
KL_API void __cudaRegisterManagedVar(void** handle, void** pointer, const void* initial, const char* name, size_t size,
                                     unsigned) {
  StateLock lock;
  uint64_t memory = state().arena.allocate(size, KL_MEMORY_MANAGED);
  if (memory == 0) return explain("no memory for the managed variable %s", name);
  state().arena.find(memory)->permanent = true;
  if (initial) std::memcpy(reinterpret_cast<void*>(memory), initial, size);
  else std::memset(reinterpret_cast<void*>(memory), 0, size);
  *pointer = reinterpret_cast<void*>(memory);
  Variable& variable = state().registry.add_variable(binary_of(handle), pointer, name, size);
  variable.managed_pointer = pointer;
  variable.address = *pointer;
}

KL_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
KL_API char __cudaInitModule(void**) { return 1; }

KL_API void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {
  not_supported("a texture reference", "use global memory");
}
KL_API void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {
  not_supported("a surface reference", "use global memory");
}
