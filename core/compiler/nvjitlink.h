// From PTX to a cubin in this process, by NVIDIA's nvJitLink, opened at run time: the assembler behind nvcc, without
// its process. Opened before a worker is jailed or forked, used in it. What ptxas says of each kernel comes back as
// facts; "too much shared data" is told apart from other trouble, since it is a limit and no mistake.
#pragma once
#include <map>
#include <string>

#include "core/base/result.h"
#include "core/model/verdict.h"

namespace kernelift {

struct CubinFacts {
  uint32_t registers = 0, spill_stores = 0, spill_loads = 0, stack_bytes = 0, shared_bytes = 0;
};

struct Cubin {
  Outcome outcome = Outcome::Ok;  ///< Ok CompileFailed OverResources
  std::string detail;
  std::string image;
  std::map<std::string, CubinFacts> kernels;
};

/// Opens the library, once per process. An Error says where it was looked for.
Status open_cubin_compiler();
/// EXPECTS: open_cubin_compiler() succeeded. `arch`: "sm_90".
Cubin compile_cubin(const std::string& ptx, const std::string& arch);

/// What ptxas's verbose log says, by kernel.
std::map<std::string, CubinFacts> facts_from_log(const std::string& log);
/// "bytes of shared memory per block: 80000, limit 49152" if that is what the error log complains of; else empty.
std::string exhausted_resource(const std::string& error_log);

}  // namespace kernelift
