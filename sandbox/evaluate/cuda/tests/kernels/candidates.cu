// Candidates for the kernel of the tests' MEP (out[i] = in[i] * factor + bias), good and bad, and a second kernel that
// works in place. Compiled like support.cu, without CUDA's headers.
#include <__clang_cuda_builtin_vars.h>

#define KL_KERNEL extern "C" __attribute__((global)) void

extern "C" __attribute__((device)) int vprintf(const char*, void*);
__attribute__((constant)) float bias;
__attribute__((device)) float kept;

__attribute__((device)) static int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

KL_KERNEL right(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
}
KL_KERNEL also_right(const float* in, float* out, int n, float factor) {
  for (int i = index(); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    out[i] = __nvvm_fma_rn_f(in[i], factor, bias);
}
KL_KERNEL slow(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i >= n) return;
  volatile float sum = 0;
  for (int j = 0; j < 3000; ++j) sum = sum + 1.0f;
  out[i] = in[i] * factor + bias + (sum - 3000.0f);
}
KL_KERNEL wrong(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias + (i == 77 ? 1.0f : 0.0f);
}
KL_KERNEL lazy(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n && i != 5) out[i] = in[i] * factor + bias;
}
KL_KERNEL changes_input(float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  if (i == 3) in[3] = 0;
}
KL_KERNEL outside(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  if (i == 0) out[n + 2] = 1.0f;
}
/// Of 1000 bytes that it is lent, the last, and the one behind it.
KL_KERNEL uses_scratch(const float* in, float* out, int n, float factor, char* scratch) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  if (i == 0) scratch[999] = 1;
}
KL_KERNEL behind_scratch(const float* in, float* out, int n, float factor, char* scratch) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  if (i == 0) scratch[1000] = 1;
}
KL_KERNEL faults(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  if (i == 0) *reinterpret_cast<volatile float*>(64) = 1.0f;
}
KL_KERNEL hangs(const float* in, float* out, int n, float factor) {
  volatile const float* spin = in;
  while (spin[0] == in[0]) {}
  out[0] = 1;
}
KL_KERNEL prints(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias;
  for (int j = 0; i < 2000 && j < 20; ++j) vprintf("a candidate that talks and talks and talks and talks\n", nullptr);
}
/// Right at first; a variable of its own remembers, and from the third launch on the answer is another.
KL_KERNEL remembers(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor + bias + (kept > 2.5f ? 1.0f : 0.0f);
  if (i == 0) kept += 1.0f;
}
KL_KERNEL accumulate(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] += in[i] * factor;
}
KL_KERNEL accumulate_wrong(const float* in, float* out, int n, float factor) {
  int i = index();
  if (i < n) out[i] = in[i] * factor;
}
/// data[index[i]] = i: a buffer of indices full of poison leads it astray.
KL_KERNEL scatter(int* index_of, int* data, int n) {
  int i = index();
  if (i >= n) return;
  int at = index_of[i];
  data[at] = i;
  index_of[i] = at + 0;
  if (i == 0) index_of[0] = at + 1, data[n - 1] = n - 1;
}
/// data[index[i]] = i: launched again, it changes nothing, and its indices never change; full of poison they lead it
/// astray.
KL_KERNEL mark(int* index_of, int* data, int n) {
  int i = index();
  if (i < n) data[index_of[i]] = i;
}
KL_KERNEL mark_most(int* index_of, int* data, int n) {
  int i = index();
  if (i < n && i != 5) data[index_of[i]] = i;
}
