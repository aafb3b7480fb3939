// Sizes shared by kernels and launches.
#pragma once

#define TILE_X 16
#define TILE_Y 8

constexpr int kBins = 256;
constexpr int kHistogramThreads = 128;
constexpr int kPixelsPerThread = 8;
constexpr int kMaxRadius = 7;
constexpr int kMaxMask = (2 * kMaxRadius + 1) * (2 * kMaxRadius + 1);
