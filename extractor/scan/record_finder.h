// The structures that a kernel is given or finds in module variables, and those that pointers lead to from there: where
// in each of them addresses lie and of what, and what its bytes are. It is what types say of memory that a kernel
// reaches by way of a structure.
#pragma once
#include "extractor/source/closure.h"

namespace kernelift {

/// Fills in `into`'s records, each once, and the variables that hold addresses. Left out: structures that are declared
/// only, and of very many the last.
void find_records(const ParsedUnit& unit, const clang::FunctionDecl* kernel, const Closure& closure,
                  ScannedKernel& into);

}  // namespace kernelift
