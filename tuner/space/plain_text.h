// A kernel's text with every memory access written as an array element, for analyses that work on text: `p[k]` with
// `const float* p = row + threadIdx.x;`, `__ldg(row + k + t)`, `*(row + k)` and `reinterpret_cast<const
// float4*>(row)[k]` become `row[…]` with the whole index between the brackets.
#pragma once
#include <string>
#include <string_view>

namespace kernelift::tuner {

/// The text without comments, and with macros for indices (`#define tid threadIdx.x`) expanded. It cannot be compiled,
/// because types of casts are dropped.
std::string plain_text(std::string_view source);

}  // namespace kernelift::tuner
