// A kernel's text with every access to memory spelled as an element of an array, for those who read it as text: `p[k]`
// for `const float* p = row + threadIdx.x;`, `__ldg(row + k + t)`, `*(row + k)` and `reinterpret_cast<const
// float4*>(row)[k]` become `row[…]` with all that leads to the element between the brackets.
#pragma once
#include <string>
#include <string_view>

namespace kernelift {

/// Without comments; macros that stand for a place, `#define tid threadIdx.x`, are put in. Not to be compiled: types of
/// casts are lost.
std::string plain_text(std::string_view source);

}  // namespace kernelift
