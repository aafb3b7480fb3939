// Smooths and equalises an image, several times over.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "config.h"
#include "filter.h"
#include "hip_check.h"
#include "image.h"
#include "reference.h"

namespace {

struct Options {
  int width = 1024, height = 768, passes = 10, radius = 5;
  float sigma = 2.0f, range = 0.12f;
  bool check = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    auto number = [&](const char* name, int& into) {
      if (std::strcmp(argv[i], name) != 0 || i + 1 >= argc) return false;
      into = std::atoi(argv[++i]);
      return true;
    };
    if (std::strcmp(argv[i], "--check") == 0) options.check = true;
    else if (!number("--width", options.width) && !number("--height", options.height) &&
             !number("--passes", options.passes) && !number("--radius", options.radius)) {
      std::fprintf(stderr, "usage: %s [--width W] [--height H] [--passes N] [--radius 3|5|7] [--check]\n", argv[0]);
      std::exit(2);
    }
  }
  if (options.radius != 3 && options.radius != 5) options.radius = 7;
  return options;
}

template <typename T>
std::vector<T> download(const T* from, size_t count) {
  std::vector<T> to(count);
  HIP_CHECK(hipMemcpy(to.data(), from, count * sizeof(T), hipMemcpyDeviceToHost));
  return to;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::fmax(worst, std::fabs(double(a[i]) - b[i]));
  return worst;
}

// Device and host may round a value on the border of two bins differently: one pixel in ten thousand may move.
bool same_histogram(const std::vector<unsigned int>& a, const std::vector<unsigned int>& b, int pixels) {
  double moved = 0;
  for (int i = 0; i < kBins; ++i) moved += std::fabs(double(a[i]) - b[i]) / 2;
  return moved <= 1e-4 * pixels;
}

std::vector<float> equalising_curve(const std::vector<unsigned int>& counts, int pixels) {
  std::vector<float> curve(kBins);
  double below = 0;
  for (int b = 0; b < kBins; ++b) {
    below += counts[b];
    curve[b] = static_cast<float>(0.8 * b / (kBins - 1) + 0.2 * below / pixels);
  }
  return curve;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int pixels = options.width * options.height;
  const Image image = synthetic_image(options.width, options.height);
  const std::vector<float> mask = gaussian_mask(options.radius, options.sigma);
  upload_mask(mask);

  float *current, *smooth, *curve;
  unsigned int* counts;
  HIP_CHECK(hipMalloc((void**)&current, pixels * sizeof(float)));
  HIP_CHECK(hipMalloc((void**)&smooth, pixels * sizeof(float)));
  HIP_CHECK(hipMalloc((void**)&curve, kBins * sizeof(float)));
  HIP_CHECK(hipMalloc((void**)&counts, kBins * sizeof(unsigned int)));
  HIP_CHECK(hipMemcpy(current, image.pixels.data(), pixels * sizeof(float), hipMemcpyHostToDevice));

  bool passed = true;
  double device_seconds = 0;
  for (int pass = 0; pass < options.passes; ++pass) {
    // The host repeats only the first and the last pass.
    const bool compare = options.check && (pass == 0 || pass == options.passes - 1);
    const std::vector<float> before = compare ? download(current, pixels) : std::vector<float>();

    auto start = std::chrono::steady_clock::now();
    bilateral(options.radius, current, smooth, options.width, options.height, options.range);
    if (pass % 3 == 0) {
      convolve(options.radius, smooth, current, options.width, options.height);
      std::swap(current, smooth);
    }
    histogram(smooth, counts, pixels);
    const std::vector<unsigned int> bins = download(counts, kBins);
    device_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    if (compare) {
      std::vector<float> expected =
          reference::bilateral(options.radius, mask, before, options.width, options.height, options.range);
      if (pass % 3 == 0) expected = reference::convolve(options.radius, mask, expected, options.width, options.height);
      const std::vector<float> got = download(smooth, pixels);
      const double difference = largest_difference(got, expected);
      const bool same_bins = same_histogram(reference::histogram(got), bins, pixels);
      std::printf("pass %d: largest difference %.2e, histogram %s\n", pass, difference,
                  same_bins ? "equal" : "DIFFERS");
      passed &= difference < 2e-5 && same_bins;
    }

    const std::vector<float> table = equalising_curve(bins, pixels);
    HIP_CHECK(hipMemcpy(curve, table.data(), kBins * sizeof(float), hipMemcpyHostToDevice));
    start = std::chrono::steady_clock::now();
    apply_curve(smooth, curve, pixels);
    HIP_CHECK(hipDeviceSynchronize());
    device_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::swap(current, smooth);
  }

  double mean = 0;
  for (float value : download(current, pixels)) mean += value / pixels;
  std::printf("%d x %d, radius %d, %d passes: %.3f s, mean %.5f\n", options.width, options.height, options.radius,
              options.passes, device_seconds, mean);
  for (void* pointer : {(void*)current, (void*)smooth, (void*)curve, (void*)counts}) HIP_CHECK(hipFree(pointer));
  if (!options.check) return 0;
  std::printf("%s\n", passed ? "PASSED" : "FAILED");
  return passed ? 0 : 1;
}
