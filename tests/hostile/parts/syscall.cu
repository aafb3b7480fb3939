// Machine code in a 64-bit constant: `push rcx; pop rdi; mov eax, r8d; syscall; ret`, called where the compiler put it.
// On the CPU device a function's first argument comes in rsi, since rdi holds the block.
__device__ __noinline__ void marker(volatile unsigned long long* to) { *to = 0xc3050fc089445f51ull; }
__device__ __noinline__ long system_call(long number, long a, long b, long c) {
  void (*volatile code)(volatile unsigned long long*) = marker;
  const unsigned char* at = (const unsigned char*)code;
  for (int k = 0; k < 256 && (at[0] != 0x51 || at[1] != 0x5f || at[2] != 0x44); ++k) ++at;
  long (*volatile call)(long, long, long, long) = (long (*)(long, long, long, long))at;
  return call(b, c, a, number);
}
// With a fourth argument: `mov r10, rsi; ret` sets it before.
__device__ __noinline__ void fourth_marker(volatile unsigned long long* to) { *to = 0x90909090c3f28949ull; }
__device__ __noinline__ long system_call4(long number, long a, long b, long c, long d) {
  void (*volatile code)(volatile unsigned long long*) = fourth_marker;
  void (*volatile other)(volatile unsigned long long*) = marker;
  const unsigned char *set = (const unsigned char*)code, *at = (const unsigned char*)other;
  for (int k = 0; k < 256 && (set[0] != 0x49 || set[1] != 0x89 || set[2] != 0xf2 || set[3] != 0xc3); ++k) ++set;
  for (int k = 0; k < 256 && (at[0] != 0x51 || at[1] != 0x5f || at[2] != 0x44); ++k) ++at;
  ((long (*)(long))set)(d);
  return ((long (*)(long, long, long, long, long))at)(b, c, a, number, 0);
}
