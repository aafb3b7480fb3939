// A variable that is initialised by a function for both that is constant only for the device.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__host__ __device__ constexpr int hidden() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return __builtin_printf("hidden");
#endif
}
const int once = hidden();
