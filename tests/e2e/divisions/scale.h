// Scales all rows of a matrix, on the device.
#pragma once
void scale_rows(const float* in, float* out, int rows, int columns);
