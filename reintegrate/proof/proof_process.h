// The proof in a process of its own: what it compiles was written by a stranger, and a compiler that crashes on it,
// does not end or takes all memory must not take `apply` along.
#pragma once
#include <functional>

#include "reintegrate/proof/host_proof.h"

namespace kernelift::reintegrate {

/// The result of `work`, run in a child process. Refused if the child crashes or exceeds its limits.
Result<HostProof> in_own_process(const std::function<Result<HostProof>()>& work);

}  // namespace kernelift::reintegrate
