// The same by the 32-bit gate: `mov ebx, esi; mov eax, r8d; int 0x80; ret`.
__device__ __noinline__ void old_marker(volatile unsigned long long* to) { *to = 0xc380cdc08944f389ull; }
__device__ __noinline__ long old_system_call(long number, long a, long b, long c) {
  void (*volatile code)(volatile unsigned long long*) = old_marker;
  const unsigned char* at = (const unsigned char*)code;
  for (int k = 0; k < 256 && (at[0] != 0x89 || at[1] != 0xf3 || at[2] != 0x44); ++k) ++at;
  long (*volatile call)(long, long, long, long) = (long (*)(long, long, long, long))at;
  return call(a, c, b, number);
}
