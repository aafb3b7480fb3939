// Vector operations of the solver, on device memory.
#pragma once

namespace heat {

/// y += a x
void axpy(int n, float a, const float* x, float* y);
/// y = x + a y
void xpay(int n, const float* x, float a, float* y);
/// out = x - y
void subtract(int n, const float* x, const float* y, float* out);
/// Sum of x[i] y[i]. `scratch` holds one float.
float dot(int n, const float* x, const float* y, float* scratch);

}  // namespace heat
