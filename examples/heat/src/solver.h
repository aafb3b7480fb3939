// One simulation: fields on the device, time steps by conjugate gradients.
#pragma once
#include <vector>

#include "device_array.h"
#include "grid.h"

namespace heat {

struct StepResult {
  int iterations;
  float residual;  // relative
  float change;    // largest change of a cell, kelvin
};

class Simulation {
 public:
  Simulation(int dim, const Extent& extent, float dt, float tolerance, int max_iterations);

  StepResult step();
  std::vector<float> temperature() const { return temperature_.download(); }
  std::vector<float> right_hand_side() const { return rhs_.download(); }
  std::vector<float> conductivity() const { return conductivity_.download(); }
  std::vector<float> profile();
  float spacing() const { return spacing_; }

 private:
  int solve(float& residual);

  int dim_;
  Extent extent_;
  float dt_, tolerance_, spacing_;
  int max_iterations_, sources_;
  DeviceArray<unsigned char> material_;
  DeviceArray<float> temperature_, previous_, conductivity_, rate_, rhs_, residual_, direction_, image_, scratch_;
};

/// Edge of the box in metres, temperature at the start and outside in kelvin, cooling of the faces in 1/s.
constexpr float kBox = 0.5f, kAmbient = 293.15f, kCooling = 0.002f;

}  // namespace heat
