#include "reference.h"

#include <cmath>

#include "operator.cuh"

namespace heat::reference {
namespace {

using Field = std::vector<double>;

Field widen(const std::vector<float>& from) { return Field(from.begin(), from.end()); }

void apply(int dim, const Extent& extent, const Field& p, const Field& k, Field& out, double dt, double spacing) {
  const int step[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  out = p;
  const double scale = dt / (spacing * spacing);
  for (int axis = 0; axis < dim; ++axis)
    for (int z = 0; z + step[axis][2] < extent.nz; ++z)
      for (int y = 0; y + step[axis][1] < extent.ny; ++y)
        for (int x = 0; x + step[axis][0] < extent.nx; ++x) {
          const int a = extent.at(x, y, z);
          const int b = extent.at(x + step[axis][0], y + step[axis][1], z + step[axis][2]);
          const double flow = scale * face_conductivity(k[a], k[b]) * (p[a] - p[b]);
          out[a] += flow;
          out[b] -= flow;
        }
}

double dot(const Field& a, const Field& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

}  // namespace

double residual(int dim, const Extent& extent, const std::vector<float>& u, const std::vector<float>& conductivity,
                const std::vector<float>& rhs, double dt, double spacing) {
  Field image, wide_rhs = widen(rhs);
  apply(dim, extent, widen(u), widen(conductivity), image, dt, spacing);
  double total = 0;
  for (size_t i = 0; i < image.size(); ++i) total += (wide_rhs[i] - image[i]) * (wide_rhs[i] - image[i]);
  return std::sqrt(total / dot(wide_rhs, wide_rhs));
}

std::vector<double> solve(int dim, const Extent& extent, const std::vector<float>& guess,
                          const std::vector<float>& conductivity, const std::vector<float>& rhs, double dt,
                          double spacing) {
  const Field k = widen(conductivity), b = widen(rhs);
  Field u = widen(guess), image, r = b, p;
  apply(dim, extent, u, k, image, dt, spacing);
  for (size_t i = 0; i < r.size(); ++i) r[i] -= image[i];
  p = r;
  double rr = dot(r, r);
  for (int iteration = 0; iteration < 1000 && rr > 1e-24 * dot(b, b); ++iteration) {
    apply(dim, extent, p, k, image, dt, spacing);
    const double alpha = rr / dot(p, image);
    for (size_t i = 0; i < u.size(); ++i) u[i] += alpha * p[i], r[i] -= alpha * image[i];
    const double next = dot(r, r);
    for (size_t i = 0; i < p.size(); ++i) p[i] = r[i] + next / rr * p[i];
    rr = next;
  }
  return u;
}

double sum(const std::vector<float>& values) {
  double total = 0;
  for (float value : values) total += value;
  return total;
}

}  // namespace heat::reference
