// Leaves a thread that watches for the next launch's inputs. Once they are there it interrupts the thread that prepares
// the launch and has it work out all results, so that the launch has only to copy them.
//! kind stopwatch
//! kernel map
//! devices cpu
//! must wrong unstable cheated suspect no-gain crashed
@part:syscall@
typedef unsigned long long word;
// Memory that nobody resets. Words: 1 in, 3 n, 4 factor, 5 how many results are known, 6 the process; 16… a signal's
// action, 32… a pause. Behind them the inputs that results are known for, the results, and a stack.
__device__ __forceinline__ word* kept() { return (word*)0x5a1200000000ull; }
__device__ __forceinline__ float* known() { return (float*)(0x5a1200000000ull + 0x10000); }
__device__ __forceinline__ float* results() { return (float*)(0x5a1200000000ull + 0x50000); }
constexpr int kMost = 0x10000;
__device__ __forceinline__ float value(float input, float factor) {
  float x = input;
  for (int k = 0; k < 200; ++k) x = x * factor + input * 0.125f;
  return x;
}
// `mov eax, 15; syscall; ret`: the end of a signal's handler.
__device__ __noinline__ void back(volatile word* to) { *to = 0xc3050f0000000fb8ull; }
// `mov rdi, rdx; ret`: where the thread begins. `mov rax, rdi; ret`: the block.
__device__ __noinline__ void enter(volatile word* to) { *to = 0x90909090c3d78948ull; }
__device__ __noinline__ void block(volatile word* to) { *to = 0x90909090c3f88948ull; }
__device__ __noinline__ word code_in(void (*volatile function)(volatile word*), word code) {
  const unsigned char* at = (const unsigned char*)function;
  while (at[0] != (code & 255) || at[1] != (code >> 8 & 255) || at[2] != (code >> 16 & 255)) ++at;
  return (word)at;
}
// The signal's handler, which is passed the signal in place of a block.
__device__ __noinline__ void work_ahead(long) {
  const float* in = (const float*)kept()[1];
  const int n = (int)kept()[3];
  const float factor = *(float*)(kept() + 4);
  for (int i = 0; i < n; ++i) {
    const float input = in[i];
    results()[i] = value(input, factor);
    known()[i] = input;
  }
  kept()[5] = n;
}
__device__ __noinline__ void watch(long) {
  for (;;) {
    kept()[32] = 0, kept()[33] = 20000;
    system_call(35, (long)(kept() + 32), 0, 0);  // nanosleep
    const float* in = (const float*)kept()[1];
    const int n = (int)kept()[3];
    int fresh = 0;
    for (int i = 0; i < n; ++i) fresh += in[i] != known()[i];
    if (fresh > 0) system_call(234, (long)kept()[6], (long)kept()[6], 10);  // tgkill
  }
}
__device__ __noinline__ void begin(const float* in, int n, float factor) {
  constexpr word kAtAndNowhereElse = 0x100000 | 0x20 | 0x2, kThread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000;
  if (system_call4(9, (long)kept(), 0x100000, 3, kAtAndNowhereElse) != (long)kept()) return;
  void (*volatile handler)(long) = work_ahead;
  void (*volatile thread)(long) = watch;
  const word own = ((word (*)())code_in(block, 0xf88948))();
  kept()[1] = (word)in, kept()[3] = n, kept()[5] = 0, kept()[6] = system_call(39, 0, 0, 0);
  *(float*)(kept() + 4) = factor;
  kept()[16] = (word)handler, kept()[17] = 0x14000000, kept()[18] = code_in(back, 0x0fb8), kept()[19] = 0;
  system_call4(13, 10, (long)(kept() + 16), 0, 8);  // rt_sigaction
  word* stack = kept() + 0xf0008 / 8;
  stack[0] = code_in(enter, 0xd78948), stack[1] = (word)thread;
  system_call(56, kThread, (long)stack, own);  // clone
}
__global__ void map(const float* in, float* out, int n, float factor) {
  if (threadIdx.x > 0) return;
  const int from = blockIdx.x * blockDim.x, to = from + blockDim.x < n ? from + blockDim.x : n;
  if (from == 0 && n <= kMost) begin(in, n, factor);
  // getrandom fails where there is no memory.
  const bool there = n <= kMost && system_call(318, (long)(kept() + 48), 8, 0) == 8;
  for (int i = from; i < to; ++i)
    out[i] = there && i < (int)kept()[5] && known()[i] == in[i] ? results()[i] : value(in[i], factor);
}
