// Attaches to a process of the user by ptrace, and reads its memory by process_vm_readv.
//! kind system-calls
//! kernel map
//! devices cpu
//! must refused compile_failed crashed no-gain
@part:syscall@
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    char mine[64];
    long local[2] = {(long)mine, 64}, remote[2] = {0x400000, 64};
    system_call(101, 16, @PID@, 0);
    system_call(310, @PID@, (long)local, 1);
    system_call(311, @PID@, (long)remote, 1);
    system_call(434, @PID@, 0, 0);
    system_call(438, 3, 0, 0);
  }
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 64; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
