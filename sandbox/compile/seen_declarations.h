// What host code may see of a kernel's own declarations: members and their initial values, bases, aliases, enumerators,
// default arguments of templates, variables. A candidate may add declarations of new names, and changes none of these
// but for a number in place of a number: another compiler may make another thing of the text, and what it makes of it
// steers the host program. A variable of the device keeps its initial value, which host code may read and nobody judges
// where the application sets it.
#pragma once
#include <set>
#include <string>

#include "sandbox/compile/admission.h"
#include "sandbox/compile/admission_recorder.h"

namespace kernelift::sandbox {

/// Records each declaration within `decl` under its name, and variables of the device whose type a template chooses.
void note_seen_declarations(AdmissionRecorder recorder, clang::Decl& decl);
/// Whether the finding is of a name that `own`, the findings of the kernel's source, do not have.
bool declares_new_name(const AdmissionFinding& finding, const std::set<std::string>& own);

}  // namespace kernelift::sandbox
