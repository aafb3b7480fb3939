// Numbers that are computed in 32 bits (KernelModel::Narrow): a model reads them as if they never overflowed.
#pragma once
#include "core/legality/setting.h"

namespace kernelift::legality {

/// Takes the sizes for which one of the original's overflows out of `asked`, as far as that is known: to `unread` where
/// it cuts a wider number, which is no mistake. Sizes whose numbers of 32 bits are within a million of their end are
/// none that are asked about. nullopt: isl gave up.
std::optional<Findings> ask_where_the_original_fits(Setting& setting);

/// Numbers of the candidate that the original neither has nor keeps from overflowing: where they may. nullopt: isl gave
/// up. EXPECTS: the candidate touches nothing that the original does not.
std::optional<Findings> beyond_width(Setting& setting);

}  // namespace kernelift::legality
