// The recorder's own heap. A signal comes in the middle of anything, and a handler that calls exit(), as many do at
// Ctrl-C, never goes back: what it interrupted keeps its locks. Were that the C library's heap, in the middle of our
// work, exit() would wait for ever. So what the recorder allocates lies in pages of its own, under a lock that nobody
// else ever needs.
#pragma once
#include <cstddef>

namespace kernelift::record {

/// Aligned for any type that asks for no more than 16 bytes. Null: no memory.
void* own_allocate(size_t bytes) noexcept;
/// Of own_allocate, or null.
void own_free(void* memory) noexcept;

}  // namespace kernelift::record
