// Definitions that keep the kernelift binary from asking a machine for what it never uses. LLVM's archives are built
// for Debian 12: they name Z3 (clang's static analyzer, which we never run) and arc4random of glibc 2.36 (random names
// of temporary files). Linked ahead of LLVM's own archives, these replace both, and the binary starts wherever
// glibc 2.34 is. It does not make LLVM's shared parts older: a function that a newer LLVM starts to want is found by
// the bundle's test.
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
