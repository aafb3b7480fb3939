// The structures that a kernel takes as arguments or finds in module variables, and those that pointers in them lead
// to: the offset and pointee type of each pointer, and the types of the other bytes. With them, memory that a kernel
// reaches only through a structure gets a type.
#pragma once
#include "extractor/source/closure.h"

namespace kernelift::extractor {

/// Fills in `into`'s records, each once, and the variables that contain pointers. Structures that are only declared are
/// left out, and so are those beyond a limit of 256.
void find_records(const ParsedUnit& unit, const clang::FunctionDecl* kernel, const Closure& closure,
                  ScannedKernel& into);

}  // namespace kernelift::extractor
