// Honest candidates that the rewrite rules make of the suite's kernels.
#pragma once
#include <vector>

#include "cli/hostile/trick.h"
#include "core/model/mep.h"

namespace kernelift::cli {

/// One per opportunity in the kernel's own text. Steps that state an effect (less precision) or a premise that the
/// launches do not fulfil may rightly be called wrong and are left out.
Result<std::vector<Trick>> tricks_of_rules(const std::string& kernel, const Mep& mep, const std::string& source,
                                           bool cuda);

}  // namespace kernelift::cli
