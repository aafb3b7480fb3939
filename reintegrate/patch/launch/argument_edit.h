// Changes an integer that launches give to the kernel's template, `scale<float, 128><<<…>>>`: at every launch of the
// instance and in its explicit instantiations, or nowhere. Geometry is the launch's own edit (launch_edit.h).
#pragma once
#include <string>

#include "reintegrate/patch/patch_draft.h"

namespace kernelift::reintegrate {

/// True if the kernel's name differs from the MEP's in arguments alone that the candidate's values change.
bool is_own_instance(const Mep& mep, const Candidate& candidate, const std::string& kernel);
/// The candidate's text with the constants of such arguments as they were: the application's files do not hold these
/// lines (core/model/knob/template_arguments.h).
std::string with_recorded_arguments(std::string source, const Mep& mep, const Candidate& candidate);
/// Refused where a launch of the instance is not known, or does not spell the argument as the first one does.
Status edit_argument(const PatchQuestion& question, const Knob& knob, int64_t value, PatchDraft& draft);

}  // namespace kernelift::reintegrate
