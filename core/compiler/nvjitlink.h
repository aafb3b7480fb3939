// Compiles PTX to a cubin in this process, with NVIDIA's nvJitLink, which is opened at run time and contains the
// assembler that nvcc runs as a process (ptxas). It is opened before a worker is forked and jailed, and used in the
// worker. ptxas's figures for each kernel are returned as facts. Exceeding a limit such as the size of shared memory
// has an outcome of its own, because the PTX is correct.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/candidate/unit_flags.h"
#include "core/model/verdict/verdict.h"

namespace kernelift {

/// A kernel's resources. Spills and stack are bytes per thread, shared memory is bytes per block.
struct CubinFacts {
  uint32_t registers = 0, spill_stores = 0, spill_loads = 0, stack_bytes = 0, shared_bytes = 0;
};

struct Cubin {
  Outcome outcome = Outcome::Ok;              ///< Ok CompileFailed OverResources
  std::string detail;                         ///< The error, unless Ok.
  std::string image;                          ///< The cubin.
  std::map<std::string, CubinFacts> kernels;  ///< By mangled name.
};

/// Opens the library and whatever it loads for its first link, once per process. An Error lists the folders that were
/// searched.
Status open_cubin_compiler();
/// EXPECTS: open_cubin_compiler() succeeded. `arch`: "sm_90". `options`: further ones of nvJitLink.
Cubin compile_cubin(const std::string& ptx, const std::string& arch, const std::vector<std::string>& options = {});
/// nvJitLink's options for those of the flags that the assembler follows; the others are the front end's.
std::vector<std::string> assembler_options(const UnitFlags& flags);

/// The facts in ptxas's verbose log, by kernel.
std::map<std::string, CubinFacts> facts_from_log(const std::string& log);
/// "bytes of shared memory: 80000, limit 49152" if the error log reports that a limit was exceeded; else empty.
std::string exhausted_resource(const std::string& error_log);

}  // namespace kernelift
