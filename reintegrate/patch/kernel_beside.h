// A candidate that is right for some sizes only is put beside the original kernel, under a name of its own, and
// launches choose between the two:
//   (n % 4 == 0 ? scale_tuned : scale)<<<grid, block>>>(a, n)
// The original stays as it is, for all other sizes and for launches that are not known. What the candidate's text
// changes outside of the kernel it may only add, because the original uses the rest. A launch in front of the
// definition, or in another file, sees the second kernel by a declaration beside that of the first.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"
#include "reintegrate/patch/open_file.h"

namespace kernelift::reintegrate {

struct KernelBeside {
  std::string name;         ///< "scale_tuned", a name that the file does not use.
  uint64_t at = 0;          ///< Byte of the original's file behind its definition.
  std::string text;         ///< To insert there: the candidate's kernel, with a comment.
  std::string copied;       ///< The same with the original's body, which differs in nothing but its name.
  std::vector<Hunk> added;  ///< The candidate's other changes: insertions.
};

/// Refuses a kernel that cannot be defined twice (one of several of its name, with C linkage, written by a macro), and
/// a candidate that changes lines outside of it. `visible`: other units launch it; else the second kernel is its unit's
/// own. `comment`: a line without `//`.
Result<KernelBeside> kernel_beside(const Mep& mep, const ScanIndex& scan, const ScannedKernel& kernel,
                                   const OpenFile& file, const std::vector<TextLine>& old_lines,
                                   const std::vector<TextLine>& new_lines, const std::vector<Hunk>& hunks,
                                   const std::string& comment, bool visible = false);

/// To insert behind a declaration of the kernel.
struct DeclarationBeside {
  uint64_t at = 0;  ///< Byte of the text.
  std::string text;
};
/// `visible`: as above. nullopt: `text` does not declare a kernel `name`, but may define it.
std::optional<DeclarationBeside> declaration_beside(const std::string& text, const std::string& name,
                                                    const std::string& beside, bool visible);

/// The kernel's name without scopes and template arguments.
std::string own_name(std::string_view kernel_name);

}  // namespace kernelift::reintegrate
