#include "solver.h"

#include <cmath>

#include "boundary.h"
#include "diagnostics.h"
#include "materials.h"
#include "operator.h"
#include "sources.h"
#include "vector_ops.h"

namespace heat {

Simulation::Simulation(int dim, const Extent& extent, float dt, float tolerance, int max_iterations)
    : dim_(dim),
      extent_(extent),
      dt_(dt),
      tolerance_(tolerance),
      spacing_(kBox / extent.nx),
      max_iterations_(max_iterations),
      material_(material_map(extent)),
      temperature_(std::vector<float>(extent.cells(), kAmbient)),
      previous_(extent.cells()),
      conductivity_(extent.cells()),
      rate_(extent.cells()),
      rhs_(extent.cells()),
      residual_(extent.cells()),
      direction_(extent.cells()),
      image_(extent.cells()),
      scratch_(extent.ny + 1) {
  upload_materials(material_table());
  std::vector<Source> sources = source_table();
  sources_ = static_cast<int>(sources.size());
  upload_sources(sources);
}

StepResult Simulation::step() {
  const int n = extent_.cells();
  CUDA_CHECK(cudaMemcpy(previous_.get(), temperature_.get(), n * sizeof(float), cudaMemcpyDeviceToDevice));
  cool_faces(extent_, kAmbient, kCooling, dt_, temperature_.get());
  update_conductivity(n, material_.get(), temperature_.get(), conductivity_.get());
  evaluate_sources(sources_, extent_, rate_.get());
  CUDA_CHECK(cudaMemcpy(rhs_.get(), temperature_.get(), n * sizeof(float), cudaMemcpyDeviceToDevice));
  axpy(n, dt_, rate_.get(), rhs_.get());

  StepResult result;
  result.iterations = solve(result.residual);
  result.change = largest_change(n, temperature_.get(), previous_.get(), scratch_.get());
  return result;
}

// Plain conjugate gradients, warm-started from the temperature of the step before.
int Simulation::solve(float& relative) {
  const int n = extent_.cells();
  const float rhs_norm = std::sqrt(dot(n, rhs_.get(), rhs_.get(), scratch_.get()));
  apply_operator(dim_, temperature_.get(), conductivity_.get(), image_.get(), extent_, dt_, spacing_);
  subtract(n, rhs_.get(), image_.get(), residual_.get());
  CUDA_CHECK(cudaMemcpy(direction_.get(), residual_.get(), n * sizeof(float), cudaMemcpyDeviceToDevice));
  float rr = dot(n, residual_.get(), residual_.get(), scratch_.get());

  int iteration = 0;
  for (; iteration < max_iterations_ && std::sqrt(rr) > tolerance_ * rhs_norm; ++iteration) {
    apply_operator(dim_, direction_.get(), conductivity_.get(), image_.get(), extent_, dt_, spacing_);
    const float alpha = rr / dot(n, direction_.get(), image_.get(), scratch_.get());
    axpy(n, alpha, direction_.get(), temperature_.get());
    axpy(n, -alpha, image_.get(), residual_.get());
    const float next = dot(n, residual_.get(), residual_.get(), scratch_.get());
    xpay(n, residual_.get(), next / rr, direction_.get());
    rr = next;
  }
  relative = std::sqrt(rr) / rhs_norm;
  return iteration;
}

std::vector<float> Simulation::profile() { return row_profile(extent_, temperature_.get(), scratch_.get()); }

}  // namespace heat
