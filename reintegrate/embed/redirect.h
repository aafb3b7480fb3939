// Redirects launches in the application's source through a generated launcher, by the smallest edits: the kernel's name
// and the brackets of a launch change, its arguments and geometry stay as they are spelled. A launch that cannot be
// redirected is refused by its location.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch/launch_edit.h"

namespace kernelift::reintegrate {

/// Edits of one launch site; `source` is the text of its file, `launcher` the prefix of "launch(…)" (launcher_prefix).
Result<std::vector<ByteEdit>> redirect_launch(const Mep& mep, const LaunchSite& site, const std::string& source,
                                              const std::string& launcher);

/// Offset at which to insert the generated #include: before the file's first #include that is neither conditional
/// (other than by a header guard) nor inside braces, so that no macro of the application's headers changes the
/// generated text; if there is none, at the top, below `#pragma once`.
uint64_t include_offset(const std::string& source);

}  // namespace kernelift::reintegrate
