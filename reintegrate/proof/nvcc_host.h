// The host program of a CUDA unit as nvcc gives it to the host's compiler: C++ without the bodies of kernels, in which
// functions of the device end the program. Two versions of the application's files of which nvcc makes one such text
// are one host program, whatever clang and nvcc make of constants, overloads and templates in them. Where the texts
// differ, as by a new function of the device, what the host's compiler makes of them has to be one assembly.
//
//   nvcc --dryrun ─> the unit's commands ─┬─ preprocessor ─ cudafe++ ─> text      with one version's files mounted
//                                         └─ host's compiler ─> assembly          over the application's
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/compiler/host_half.h"

namespace kernelift::reintegrate {

/// What is not the same in the host programs of two versions, as a clause; nullopt: nothing. An Error: it could not be
/// asked (no nvcc, no mounts). Of lines that one version has more, the other gets empty ones in their place, so that
/// __LINE__ is no difference.
Result<std::optional<std::string>> difference_by_nvcc(const HostUnit& unit, const std::vector<FileVersion>& without,
                                                      const std::vector<FileVersion>& with);

/// The texts with empty lines where the other has more lines, so that the lines of the original, from which both were
/// made, have the same numbers in both. EXPECTS: both are of one file.
std::pair<std::string, std::string> with_equal_lines(const FileVersion& one, const FileVersion& other);

}  // namespace kernelift::reintegrate
