// The source of the object that a device link makes: it contains the linked device program and, when the application
// starts, registers that program and every kernel and variable that the application's objects list.
//
// clang puts one entry per kernel and variable into the section llvm_offload_entries of each object; the linker
// concatenates these sections and defines __start_ and __stop_ symbols for them, per program or shared library. So any
// linker may make the program, as long as this object is in it.
#pragma once

namespace kernelift::wrappers {

inline constexpr const char* kLinkStub = R"(
struct Entry {
  unsigned long reserved;
  unsigned short version, kind;
  unsigned int flags;
  void* address;
  const char* name;
  unsigned long size, data;
  void* auxiliary;
};
extern const struct Entry __start_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));
extern const struct Entry __stop_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));
void** __cudaRegisterFatBinary(const void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
int __cudaRegisterFunction(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void**, void*, char*, const char*, int, unsigned long, int, int);
extern const char kernelift_linked_blob[] __attribute__((visibility("hidden")));
__asm__(".section .nv_fatbin,\"a\",@progbits\n.balign 16\n.globl kernelift_linked_blob\n.hidden kernelift_linked_blob\n"
        "kernelift_linked_blob:\n.incbin \"" KERNELIFT_BLOB "\"\n.previous\n");
static const struct { int magic, version; const void* data; const void* unused; } wrapper
    __attribute__((section(".nvFatBinSegment"))) = {0x466243b1, 1, kernelift_linked_blob, 0};
static void** handle;
__attribute__((constructor(101))) static void kernelift_register(void) {
  const int kCuda = 2, kConstant = 16, kKindMask = 7;
  handle = __cudaRegisterFatBinary(&wrapper);
  for (const struct Entry* e = __start_llvm_offload_entries; e < __stop_llvm_offload_entries; ++e) {
    if (e->kind != kCuda || !e->address) continue;
    if (e->size == 0) __cudaRegisterFunction(handle, e->address, (char*)e->name, e->name, -1, 0, 0, 0, 0, 0);
    else if ((e->flags & kKindMask) == 0)
      __cudaRegisterVar(handle, e->address, (char*)e->name, e->name, 0, e->size, !!(e->flags & kConstant), 0);
  }
  __cudaRegisterFatBinaryEnd(handle);
}
__attribute__((destructor(101))) static void kernelift_unregister(void) { __cudaUnregisterFatBinary(handle); }
)";

}  // namespace kernelift::wrappers
