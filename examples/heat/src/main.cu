// Heats a block of several materials and reports how warm it got.
#include <algorithm>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "options.h"
#include "reference.h"
#include "solver.h"

namespace {

using heat::Extent;

Extent extent_of(int dim, int size) { return {size, size, dim == 3 ? size : 1}; }

// Checks the last step of `simulation` with the host's operator: the residual must be small, and heat must be
// conserved.
bool check_last_step(int dim, const Extent& extent, const heat::Simulation& simulation, const Options& options) {
  const auto u = simulation.temperature(), rhs = simulation.right_hand_side();
  const auto k = simulation.conductivity();
  const double h = simulation.spacing();
  const double residual = heat::reference::residual(dim, extent, u, k, rhs, options.dt, h);
  // The limit is the rounding of single precision, amplified by the operator.
  const double norm = 1 + 4 * dim * *std::max_element(k.begin(), k.end()) * options.dt / (h * h);
  const double balance = std::fabs(heat::reference::sum(u) / heat::reference::sum(rhs) - 1);
  std::printf("check: residual %.2e, heat balance %.2e\n", residual, balance);
  return residual < 3 * options.tolerance + 4 * FLT_EPSILON * norm && balance < 3e-5;
}

// Solves a small problem on the device and on the host and compares the results.
bool check_small_problem(const Options& options) {
  const Extent extent = extent_of(options.dim, options.dim == 3 ? 18 : 50);
  heat::Simulation simulation(options.dim, extent, options.dt, 1e-6f, 200);
  simulation.step();
  const auto before = simulation.temperature();
  simulation.step();
  const auto after = simulation.temperature();
  const auto expected = heat::reference::solve(options.dim, extent, before, simulation.conductivity(),
                                               simulation.right_hand_side(), options.dt, simulation.spacing());
  double worst = 0;
  for (size_t i = 0; i < after.size(); ++i) worst = std::fmax(worst, std::fabs(after[i] - expected[i]));
  std::printf("check: small problem differs by at most %.2e K\n", worst);
  return worst < 0.02;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Extent extent = extent_of(options.dim, options.size);

  const auto start = std::chrono::steady_clock::now();
  heat::Simulation simulation(options.dim, extent, options.dt, options.tolerance, options.iterations);
  int iterations = 0;
  for (int step = 0; step < options.steps; ++step) {
    const heat::StepResult result = simulation.step();
    iterations += result.iterations;
    if (!options.quiet) {
      const auto profile = simulation.profile();
      std::printf("step %3d: %3d iterations, residual %.2e, largest change %7.3f K, middle row %.3f K\n", step,
                  result.iterations, result.residual, result.change, profile[profile.size() / 2]);
    }
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d cells, %d steps, %d iterations: %.3f s, %.1f Mcell-updates/s\n", extent.cells(), options.steps,
              iterations, seconds, 1e-6 * extent.cells() * iterations / seconds);

  if (!options.check) return 0;
  bool passed = check_last_step(options.dim, extent, simulation, options);
  passed &= check_small_problem(options);
  std::printf("%s\n", passed ? "PASSED" : "FAILED");
  return passed ? 0 : 1;
}
