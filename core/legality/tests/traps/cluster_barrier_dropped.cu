//! original | block 1 | grid 2
//! wrong trap: the blocks of a cluster do not wait | text b
__global__ void __cluster_dims__(2, 1, 1) k(int* out, int* part, const int* x) {
  part[blockIdx.x] = x[blockIdx.x];
  __nvvm_barrier_cluster_arrive();
  __nvvm_barrier_cluster_wait();
  out[blockIdx.x] = part[1 - blockIdx.x];
}
//! text b
__global__ void __cluster_dims__(2, 1, 1) k(int* out, int* part, const int* x) {
  part[blockIdx.x] = x[blockIdx.x];
  out[blockIdx.x] = part[1 - blockIdx.x];
}
