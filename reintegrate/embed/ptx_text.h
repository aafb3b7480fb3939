// Questions to PTX text, and the two changes that are made to it before it goes into an application: what a debugger
// would want is taken out (it names files of the machine that made it), and its version is written as low as will do.
// Works on lines, as LLVM writes them; it is no parser of PTX, and what it does not recognise it leaves alone.
#pragma once
#include <string>
#include <vector>

namespace kernelift {

/// Mangled names of the kernels, in order.
std::vector<std::string> ptx_kernels(const std::string& ptx);

/// The kernel that `wanted` names: a mangled name, a canonical key, or an expression like "ns::k<float, 4>". Empty if
/// none or several.
std::string ptx_kernel(const std::string& ptx, const std::string& wanted);

/// A variable that other modules or the host can see: it would be another module's own, and hold other values.
struct PtxVariable {
  std::string name;
  bool constant = false;  ///< In constant memory, which no kernel can write.
  bool defined = false;   ///< Not only declared.
  bool operator==(const PtxVariable&) const = default;
};
std::vector<PtxVariable> ptx_shared_variables(const std::string& ptx);

/// "sm_90" of `.target`; empty if there is none.
std::string ptx_target(const std::string& ptx);

/// Without line tables, debug sections, comments and labels that nobody jumps to.
std::string without_debug(const std::string& ptx);

/// Major * 10 + minor, 0 if there is none; and the same text with another one.
int ptx_version(const std::string& ptx);
std::string with_ptx_version(const std::string& ptx, int version);

}  // namespace kernelift
