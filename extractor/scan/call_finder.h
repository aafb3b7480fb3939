// Calls and launches in host code, with the memory that each passes: `smooth(a, a)` three functions away from the
// launch in smooth(to, from) says that a kernel may be given one memory twice, which no rewrite may rely on being two.
// By words, as far as they tell: a variable that is another's value under another name is not seen through.
#pragma once
#include <functional>
#include <vector>

#include "extractor/source/source_items.h"

namespace kernelift {

/// `label` names functions alike in all units.
std::vector<HostCall> find_calls(const ParsedUnit& unit, const SourceItems& items,
                                 const std::function<std::string(const clang::FunctionDecl*)>& label);

/// Takes the calls of all units and leaves what they say in the launches: LaunchSite::one_memory.
void follow_callers(ScanIndex& index);

}  // namespace kernelift
