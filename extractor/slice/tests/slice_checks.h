// Slices of a TestApp's kernels, and the checks that nearly every test of slices makes.
#pragma once
#include <algorithm>

#include "extractor/slice/slice.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor::apps {

inline Slice slice_of(const ScanIndex& index, const ScannedKernel& kernel) {
  auto slice = slice_kernel(index, kernel);
  EXPECT_TRUE(slice.ok()) << slice.error().message;
  return slice.ok() ? std::move(slice).value() : Slice{};
}
inline Slice slice_of(const ScanIndex& index, const std::string& kernel) {
  return slice_of(index, only(index, kernel));
}
inline Slice slice_of(const TestApp& app, const std::string& kernel) { return slice_of(app.scan(), kernel); }

/// The whole, proven unit of the application's only kernel, which is launched with an extended lambda.
inline Slice whole_unit_of(const TestApp& app) {
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 1u);
  Slice slice = index.kernels.empty() ? Slice{} : slice_of(index, index.kernels[0]);
  EXPECT_EQ(slice.mode, "whole-unit");
  EXPECT_TRUE(slice.proof.proven) << slice.proof.note;
  return slice;
}

inline bool has(const Slice& slice, const std::string& text) { return slice.text.find(text) != std::string::npos; }

/// Checks mode, proof, and that there is one origin per line.
inline void expect_proven(const Slice& slice) {
  EXPECT_EQ(slice.mode, "slice") << slice.note;
  EXPECT_TRUE(slice.proof.proven) << slice.proof.note << "\n" << slice.text;
  EXPECT_EQ(static_cast<size_t>(std::count(slice.text.begin(), slice.text.end(), '\n')), slice.origins.size());
}

/// Checks that every line with an origin equals that line byte for byte.
inline void expect_original_lines(const Slice& slice) {
  size_t at = 0;
  for (auto& origin : slice.origins) {
    size_t end = slice.text.find('\n', at);
    std::string line = slice.text.substr(at, end - at);
    at = end + 1;
    if (origin.file.empty()) continue;
    std::string whole = std::move(read_text(origin.file)).value();
    size_t begin = 0;
    for (uint32_t i = 1; i < origin.line; ++i) begin = whole.find('\n', begin) + 1;
    EXPECT_EQ(line, whole.substr(begin, whole.find('\n', begin) - begin)) << origin.file << ":" << origin.line;
  }
}

}  // namespace kernelift::extractor::apps
