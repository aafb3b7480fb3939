// See detour.h. x86-64 only. The jump's target is a small piece of code per detour, made at run time: it saves the
// argument registers, calls take_down() and jumps to the function, whole again.
#include "extractor/record/cuda/cupti/detour.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace kernelift::record {

#if defined(__x86_64__)

namespace {

constexpr size_t kJumpBytes = 12;  // mov rax, imm64; jmp rax

struct Detour {
  unsigned char* function;
  unsigned char saved[kJumpBytes];
  void (*before)();
  std::once_flag once;
};

bool write_code(unsigned char* at, const unsigned char* bytes) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(at) & ~(page - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(at) + kJumpBytes + page - 1) & ~(page - 1);
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  std::memcpy(at, bytes, kJumpBytes);
  mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC);
  return true;
}

/// Called by the piece of code; returns the function to go on with.
void* take_down(Detour* detour) {
  std::call_once(detour->once, [&] {
    write_code(detour->function, detour->saved);
    detour->before();
  });
  return detour->function;
}

void put(unsigned char*& at, std::initializer_list<unsigned char> bytes) {
  for (unsigned char byte : bytes) *at++ = byte;
}

void put_address(unsigned char*& at, const void* address) {
  std::memcpy(at, &address, sizeof address);
  at += sizeof address;
}

}  // namespace

bool detour_once(void* function, void (*before)()) {
  auto page = size_t(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* detour = new Detour{static_cast<unsigned char*>(function), {}, before, {}};
  std::memcpy(detour->saved, function, kJumpBytes);
  unsigned char* at = static_cast<unsigned char*>(memory);
  // Six argument registers; the stack is 16-aligned again with them, the return address and 8 more.
  put(at, {0x57, 0x56, 0x52, 0x51, 0x41, 0x50, 0x41, 0x51, 0x48, 0x83, 0xec, 0x08});
  put(at, {0x48, 0xbf}), put_address(at, detour);                                    // mov rdi, detour
  put(at, {0x48, 0xb8}), put_address(at, reinterpret_cast<const void*>(take_down));  // mov rax, take_down
  put(at, {0xff, 0xd0});                                                             // call rax
  put(at, {0x48, 0x83, 0xc4, 0x08, 0x41, 0x59, 0x41, 0x58, 0x59, 0x5a, 0x5e, 0x5f});
  put(at, {0xff, 0xe0});  // jmp rax
  unsigned char jump[kJumpBytes];
  unsigned char* to = jump;
  put(to, {0x48, 0xb8}), put_address(to, memory), put(to, {0xff, 0xe0});
  if (mprotect(memory, page, PROT_READ | PROT_EXEC) == 0 && write_code(detour->function, jump)) return true;
  munmap(memory, page);
  delete detour;
  return false;
}

#else

bool detour_once(void*, void (*)()) { return false; }

#endif

}  // namespace kernelift::record
