// Queries on PTX text, and the changes that are made to it before it is embedded: debug information is removed (it
// names files of the machine that compiled it), a limit of registers is written into it, and the version is lowered. It
// works on lines as LLVM writes them; it is not a parser of PTX, and lines that it does not recognise are left alone.
#pragma once
#include <string>
#include <vector>

namespace kernelift::reintegrate {

/// Mangled names of the kernels, in the order of the text.
std::vector<std::string> ptx_kernels(const std::string& ptx);

/// The kernel that `wanted` names: a mangled name, a canonical key, or an expression like "ns::k<float, 4>". Empty if
/// no kernel or several match.
std::string ptx_kernel(const std::string& ptx, const std::string& wanted);

/// A variable that is visible outside the module. The embedded module has its own instance, with other contents.
struct PtxVariable {
  std::string name;
  bool constant = false;  ///< In constant memory, which no kernel can write.
  bool defined = false;   ///< Defined in this module, not only declared.
  bool operator==(const PtxVariable&) const = default;
};
std::vector<PtxVariable> ptx_shared_variables(const std::string& ptx);

/// "sm_90" of `.target`; empty if there is none.
std::string ptx_target(const std::string& ptx);

/// The text without line tables, debug sections, comments and labels that are not referenced.
std::string without_debug(const std::string& ptx);

/// The text by which an assembler without options does what one does that is given --maxrregcount: a kernel that bounds
/// its own threads or blocks does not follow that option and is left as it is, others get .maxnreg.
std::string with_most_registers(const std::string& ptx, int most);

/// The version as major * 10 + minor; 0 if there is none.
int ptx_version(const std::string& ptx);
/// The same text with another version.
std::string with_ptx_version(const std::string& ptx, int version);

}  // namespace kernelift::reintegrate
