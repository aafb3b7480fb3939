# An application that launches no kernel, and a --kernel expression that matches none: a sentence names the likely cause.
. "$(dirname "$0")/common.sh" "$@"
echo 'int main() { return 0; }' > plain.cpp && g++ plain.cpp -o plain
expect_exit 1 "$KL" record -- ./plain
expect_says "kernelift build"
cat > app.cu <<'C'
__global__ void only(int* p) { *p = 1; }
int main() { int* p; cudaMalloc(&p, 4); only<<<1, 1>>>(p); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 1 "$KL" record --kernel nothing_like_it -- ./app
expect_says "only"
