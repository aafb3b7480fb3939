// A launch that asks first. Where it is a statement of its own and several of its parts differ, it becomes two:
//     if (n % 256 == 0) smooth_tuned<<<(n + 255) / 256, 256>>>(a, n);
//     else smooth<<<(n + 63) / 64, 64>>>(a, n);
// Otherwise each part asks: (n % 256 == 0 ? smooth_tuned : smooth)<<<grid, block>>>(a, n)
#pragma once
#include <string>
#include <vector>

#include "core/model/scan/scan_index.h"
#include "reintegrate/patch/launch/byte_edit.h"

namespace kernelift::reintegrate {

/// `edits` give the launch's kernel, grid, block and shared bytes new texts, which then hold where the condition does.
/// `instance`: of the template that is launched, "<float, 8>"; empty: it is none.
void guard_launch(const std::string& source, const LaunchSite& site, const std::string& condition,
                  const std::string& instance, std::vector<ByteEdit>& edits);

}  // namespace kernelift::reintegrate
