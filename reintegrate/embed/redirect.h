// Sends the launches in the application's source through a generated launcher, by the smallest edits: the name and the
// brackets of a launch change, its arguments and geometry stay as they are spelled. What cannot be sent is refused by
// name.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch_edit.h"

namespace kernelift {

/// Edits of one launch site; `source` is the file that holds it, `launcher` what stands before "launch(…)".
Result<std::vector<ByteEdit>> redirect_launch(const Mep& mep, const LaunchSite& site, const std::string& source,
                                              const std::string& launcher);

/// Where a line with an #include of our own goes: before the file's first that is neither conditional (but for the
/// guard of a header) nor inside braces, so that no macro of the application's headers meets the generated text; else
/// the top, below `#pragma once`.
uint64_t include_place(const std::string& source);

}  // namespace kernelift
