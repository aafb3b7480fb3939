// A template: a kernel's text with declared parameters (core/model/tune_declarations.h, docs/templates.md), fitted to
// one MEP. It becomes an ordinary candidate, at values that its declarations allow; the declarations of parameters stay
// in the text, where MepSpace finds them.
#pragma once
#include <string>

#include "core/model/candidate/candidate.h"
#include "core/model/candidate/tune_declarations.h"
#include "core/model/mep.h"

namespace kernelift::tuner {

/// The first setting of a template that a person wrote: the values that its definitions have, or the nearest that are
/// declared. `original` is the MEP's own text; `name` stands in the candidate's step. A usage Error names line and
/// mistake: a parameter without a definition, a condition that nothing meets, a name that is not known in a launch, a
/// launch other than the recorded one for the original text.
Result<Candidate> candidate_of_template(const Mep& mep, const std::string& original, const std::string& text,
                                        const std::string& name);

/// `written`, an edit of `parent`, at its first setting. Its launch has the sizes of `sizes`, then those that its text
/// declares, then those that it has. Where it defines knobs of the application otherwise than `parent` and says nothing
/// of the launch, this is what the application's would be. A text without declarations keeps its values. Errors as
/// above.
Result<Candidate> first_setting(const Mep& mep, const Candidate& parent, Candidate written,
                                std::vector<TuneDeclarations::Size> sizes = {});

/// A candidate as a program or an agent wrote it. One whose text declares parameters is a template: it gets the setting
/// that its `values` name, and for the others that of candidate_of_template(). Launches that it has stay; what it
/// declares is then checked and no more. A text without declarations that defines knobs of the application otherwise is
/// launched as the application then would, if it comes without launches and that is known. Errors as above.
Result<Candidate> setting_as_given(const Mep& mep, const std::string& original, Candidate written);

/// Whether the text declares anything, legibly or not.
bool is_template(const std::string& text);

}  // namespace kernelift::tuner
