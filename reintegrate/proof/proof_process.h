// The proof in a process of its own: what it compiles was written by a stranger, and a compiler that crashes on it,
// does not end or takes all memory must not take `apply` along; one that is taken over must reach nothing. So it is in
// the jail that compiles candidates: it writes no file, starts no program and has no network.
#pragma once
#include <chrono>
#include <functional>

#include "reintegrate/proof/host_proof.h"

namespace kernelift::reintegrate {

/// The result of `work`, run in a confined child process. Refused if the child crashes or exceeds its limits, of which
/// `longest` is one by the clock; 10 minutes are the most.
Result<HostProof> in_own_process(const std::function<Result<HostProof>()>& work,
                                 std::chrono::seconds longest = std::chrono::minutes(10));

}  // namespace kernelift::reintegrate
