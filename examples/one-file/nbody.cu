// Gravity of N bodies, leapfrog in time. Usage: nbody [bodies] [steps] [--check]
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define BLOCK 64
#define SOFTENING 0.01

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(2);                                                                   \
    }                                                                            \
  } while (0)

struct Body {
  float x, y, z, mass;
};

__global__ void forces(const Body* bodies, float* ax, float* ay, float* az, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  ax[i] = 0;
  ay[i] = 0;
  az[i] = 0;
  for (int j = 0; j < n; j++) {
    float dx = bodies[j].x - bodies[i].x;
    float dy = bodies[j].y - bodies[i].y;
    float dz = bodies[j].z - bodies[i].z;
    float r2 = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING;
    float inverse = 1.0 / sqrtf(r2);
    ax[i] += bodies[j].mass * dx * inverse * inverse * inverse;
    ay[i] += bodies[j].mass * dy * inverse * inverse * inverse;
    az[i] += bodies[j].mass * dz * inverse * inverse * inverse;
  }
}

__global__ void advance(Body* bodies, float* vx, float* vy, float* vz, const float* ax, const float* ay,
                        const float* az, float dt, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) {
    vx[i] += ax[i] * dt;
    vy[i] += ay[i] * dt;
    vz[i] += az[i] * dt;
    bodies[i].x += vx[i] * dt;
    bodies[i].y += vy[i] * dt;
    bodies[i].z += vz[i] * dt;
  }
}

// Pseudo-random numbers in [0, 1), the same on every machine.
static float next_random() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) / 16777216.0f;
}

static std::vector<Body> cluster(int n) {
  std::vector<Body> bodies(n);
  for (Body& body : bodies)
    body = {2 * next_random() - 1, 2 * next_random() - 1, 2 * next_random() - 1, (0.5f + next_random()) / n};
  return bodies;
}

// Compares the accelerations of all bodies with those computed on the host in double precision.
static bool check(const std::vector<Body>& bodies, const std::vector<float>& ax, const std::vector<float>& ay,
                  const std::vector<float>& az) {
  double worst = 0;
  int n = (int)bodies.size();
  for (int i = 0; i < n; i++) {
    double a[3] = {0, 0, 0};
    for (int j = 0; j < n; j++) {
      double d[3] = {(double)bodies[j].x - bodies[i].x, (double)bodies[j].y - bodies[i].y,
                     (double)bodies[j].z - bodies[i].z};
      double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING * SOFTENING;
      for (int k = 0; k < 3; k++) a[k] += bodies[j].mass * d[k] / (r2 * sqrt(r2));
    }
    double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) + 1e-3;
    worst = fmax(worst, fabs(ax[i] - a[0]) / size);
    worst = fmax(worst, fabs(ay[i] - a[1]) / size);
    worst = fmax(worst, fabs(az[i] - a[2]) / size);
  }
  printf("largest relative error of an acceleration: %.2e\n", worst);
  return worst < 2e-3;
}

int main(int argc, char** argv) {
  int n = 2048, steps = 150, numbers = 0;
  bool checking = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) checking = true;
    else (numbers++ ? steps : n) = atoi(argv[i]);
  }
  if (n < 1 || steps < 1 || numbers > 2) {
    fprintf(stderr, "usage: %s [bodies] [steps] [--check]\n", argv[0]);
    return 2;
  }

  std::vector<Body> bodies = cluster(n);
  Body* d_bodies;
  float* d_v;  // three components, then three of the acceleration
  CHECK(cudaMalloc(&d_bodies, n * sizeof(Body)));
  CHECK(cudaMalloc(&d_v, 6 * n * sizeof(float)));
  CHECK(cudaMemcpy(d_bodies, bodies.data(), n * sizeof(Body), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_v, 0, 6 * n * sizeof(float)));
  float* d_a = d_v + 3 * n;

  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; step++) {
    forces<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_bodies, d_a, d_a + n, d_a + 2 * n, n);
    if (step == steps - 1) CHECK(cudaMemcpy(bodies.data(), d_bodies, n * sizeof(Body), cudaMemcpyDeviceToHost));
    advance<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_bodies, d_v, d_v + n, d_v + 2 * n, d_a, d_a + n, d_a + 2 * n, 0.001f,
                                                n);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  printf("%d bodies, %d steps: %.3f s, %.2f Ginteractions/s\n", n, steps, seconds, 1e-9 * n * n * steps / seconds);

  bool passed = true;
  if (checking) {
    std::vector<float> a(3 * n);
    CHECK(cudaMemcpy(a.data(), d_a, 3 * n * sizeof(float), cudaMemcpyDeviceToHost));
    passed =
        check(bodies, {a.begin(), a.begin() + n}, {a.begin() + n, a.begin() + 2 * n}, {a.begin() + 2 * n, a.end()});
    printf("%s\n", passed ? "PASSED" : "FAILED");
  }
  CHECK(cudaFree(d_bodies));
  CHECK(cudaFree(d_v));
  return passed ? 0 : 1;
}
