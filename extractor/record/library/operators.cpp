// Everything in a recorder's library that comes by new lives in its own heap. The library shares no such object with
// the application: libstdc++ is linked in, one C function is all it shows. (Only its linking makes these its own
// operators.)
#include <new>

#include "extractor/record/library/own_heap.h"

void* operator new(size_t bytes) {
  if (void* memory = kernelift::record::own_allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return kernelift::record::own_allocate(bytes); }
void operator delete(void* memory) noexcept { kernelift::record::own_free(memory); }
void operator delete(void* memory, size_t) noexcept { kernelift::record::own_free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { kernelift::record::own_free(memory); }
// The C++ library's own forms for arrays call these.
