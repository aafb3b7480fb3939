//! original | block 128 | grid ceil_div(n, 128)
//! right block: larger | block 256 | grid ceil_div(n, 256)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! right spelling: a reference | `p[i].x += dt * p[i].vx; p[i].y += dt * p[i].vy;` -> `Particle& q = p[i]; q.x += dt * q.vx; q.y += dt * q.vy;`
//! right spelling: a copy | `p[i].x += dt * p[i].vx; p[i].y += dt * p[i].vy;` -> `float vx = p[i].vx, vy = p[i].vy; p[i].x = p[i].x + vx * dt; p[i].y = p[i].y + vy * dt;`
//! wrong guard: dropped | `if (i >= n) return;` -> `` | at n=100
//! wrong shift: writes another member | `p[i].y +=` -> `p[i].mass +=`
//! wrong race: moves the next particle | `p[i].y += dt` -> `p[i + 1].x += dt` | at n=100
//! wrong vector: the whole particle | `p[i].x += dt * p[i].vx; p[i].y += dt * p[i].vy;` -> `Particle q = p[i]; q.x += dt * q.vx; p[i] = q;`
//! wrong block: half of the blocks | grid ceil_div(n, 256) | at n=200
//! values sum: without dt | `dt * p[i].vx` -> `p[i].vx`
struct Particle { float x, y, vx, vy, mass; };
__global__ void move(Particle* p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i].x += dt * p[i].vx; p[i].y += dt * p[i].vy;
}
