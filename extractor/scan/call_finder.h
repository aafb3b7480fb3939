// Calls and launches in host code, with the memory that each passes: `smooth(a, a)`, three functions away from the
// launch in smooth(to, from), shows that two of a kernel's arguments may point to the same memory, so no rewrite may
// assume that they do not overlap. Memory is compared by the text of the expression: a variable that copies another's
// value is not recognised as the same memory.
#pragma once
#include <functional>
#include <vector>

#include "extractor/source/source_items.h"

namespace kernelift::extractor {

/// `label` gives a function the same name in all units.
std::vector<HostCall> find_calls(const ParsedUnit& unit, const SourceItems& items,
                                 const std::function<std::string(const clang::FunctionDecl*)>& label);

/// Consumes the calls of all units and fills in LaunchSite::one_memory of the launches.
void follow_callers(ScanIndex& index);

}  // namespace kernelift::extractor
