// The part of the jail that restricts system calls, by number and by arguments: seccomp filters. They hold on every
// kernel that Kernelift runs on, whatever else it lacks.
#pragma once
#include "sandbox/jail/jail.h"

namespace kernelift::sandbox {

/// Installs the filter for this kind of jail. A call that only an attempt to escape would make ends the process with
/// SIGSYS, which report_faults_to() names. `writes`: files may be made and changed, as far as Landlock allows.
/// EXPECTS: no_new_privs is set.
Status filter_system_calls(JailKind kind, bool writes);

/// Compiles the filters, for processes that are forked from now on: it takes longer than all the rest of a jail.
void prepare_filters();

/// A second filter on top of the first (Device): from now on no memory can be made executable, nothing opened, and
/// nothing asked about files.
Status forbid_new_code();

/// Makes the executable segments of this process and its libraries unchangeable, and the tables by which they find each
/// other, where the kernel can (6.10): they can be neither unmapped nor replaced nor made writable again.
void seal_code();
/// Whether the kernel can.
bool can_seal_code();

}  // namespace kernelift::sandbox
