// What was found becomes an answer: the premise, and a small example.
#pragma once
#include "core/legality/setting.h"

namespace kernelift::legality {

/// `writes`: parameters for which the original writes anything; a premise that excludes all of them is none.
/// `leaves_rows`: those for which nothing is known, and why; its parameters may be null.
Answer conclude(const Setting& setting, const std::vector<Wrong>& wrong, const isl::set& writes,
                const Wrong& leaves_rows);

}  // namespace kernelift::legality
