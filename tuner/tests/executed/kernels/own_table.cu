//! original | block 128 | grid ceil_div(n, 128)
__global__ void own_table(const unsigned* word, unsigned char* out, int n) {
  const unsigned char digits[] = "0123456789abcdef";
  int shift[4] = {0, 8, 16, 24};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned byte = word[i] >> shift[i & 3] & 255;
  out[i] = byte > 15 ? digits[byte >> 4] : digits[byte & 15];
}
