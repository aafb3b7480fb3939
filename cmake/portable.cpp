// Definitions that keep the kernelift binary from requiring libraries that it never uses. LLVM's archives are built for
// Debian 12 and reference Z3 (for clang's static analyzer, which is never run) and arc4random of glibc 2.36 (for random
// names of temporary files). These definitions are linked before LLVM's archives and replace both, so that the binary
// starts on systems with glibc 2.34. If a newer LLVM requires another newer function, tests/gpu/old_enough finds it.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SMTAPI.h>

namespace llvm {

SMTSolverRef CreateZ3Solver() {
  report_fatal_error("Kernelift's clang has no constraint solver: it does not run the static analyzer");
}
void SMTExpr::dump() const {}
void SMTSort::dump() const {}
void SMTSolver::dump() const {}

}  // namespace llvm

extern "C" uint32_t arc4random() {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
