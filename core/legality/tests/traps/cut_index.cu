//! original | block 1 | grid 1
//! wrong trap: the index in 32 bits | text b
__global__ void k(char* out, long long n) { out[n] = 1; }
//! text b
__global__ void k(char* out, long long n) { out[(int)n] = 1; }
