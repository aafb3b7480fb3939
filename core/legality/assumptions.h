// What a proof takes for granted.
#pragma once
#include <vector>

#include "core/legality/legality.h"

namespace kernelift::legality {

std::vector<Assumption> assumptions(const Side& original, const Side& candidate,
                                    const std::map<std::string, uint64_t>& alignments = {});

}  // namespace kernelift::legality
