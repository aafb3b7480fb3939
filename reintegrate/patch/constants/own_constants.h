// Constants of the kernel's own in place of the application's. A block size is often one macro for several kernels,
// and a candidate is judged by the MEP of its own kernel alone, in which nothing else follows a new value:
//     #define smooth_BLOCK 256
//     __global__ void smooth(…) { const int i = blockIdx.x * smooth_BLOCK + threadIdx.x; …
//     smooth<<<dim3((n + 255) / 256), 256>>>(…)
// `#define BLOCK 128` stays for all others: other kernels, host code, and the original where the kernel is put beside
// it. What the patch does is then what was judged.
#pragma once
#include <string>

#include "core/base/result.h"
#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"

namespace kernelift::reintegrate {

/// The same kernel and launch as the candidate's, with the application's constants as they are. `original`: kernel.cu
/// as extracted. Refuses a constant that the text uses outside of the kernel as well, such as in a function that it
/// calls.
Result<Candidate> with_own_constants(const Mep& mep, const std::string& original, Candidate candidate);

/// Whether the candidate changes any of the application's constants.
bool changes_constants(const Mep& mep, const Candidate& candidate);

}  // namespace kernelift::reintegrate
