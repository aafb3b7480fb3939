// An access with fewer positions that touches the same elements. The threads and iterations of a tile number elements
// by digits, as in 8 * tid.z + tid.x + 32 * loop.k with 8 threads along x and 4 along z: one number that counts from 0
// says the same, and sets of elements are compared much faster so. What such a number is divided by goes with it:
// (64 * tid.z + 8 * tid.y + tid.x) / 64 is tid.z, where the rest stays below 64.
#pragma once
#include <optional>

#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"

namespace kernelift::legality {

/// nullopt: it has no such digits. Who touches an element, and when, is lost: its time is none.
std::optional<KernelModel::Access> with_merged_digits(const KernelModel::Access& access, const Dim3& block);

}  // namespace kernelift::legality
