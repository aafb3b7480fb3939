// The sizes that a comparison asks about.
#pragma once
#include "core/legality/setting.h"

namespace kernelift::legality {

/// Sets `setting.asked`: the original's grid can be launched, and what the models take for granted holds. Found wrong
/// is where the candidate's grid cannot be.
Findings launched(Setting& setting);

}  // namespace kernelift::legality
