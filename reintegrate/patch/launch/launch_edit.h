// Rewrites the geometry of a launch in the application's source: the text between <<< and >>> (or the matching call
// arguments) is replaced by a C++ expression computed from the old one. A launch that cannot be expressed is refused by
// its location; nothing is guessed.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "reintegrate/patch/launch/byte_edit.h"
#include "reintegrate/patch/launch/launch_guard.h"

namespace kernelift::reintegrate {

/// The edits with which a launch runs the candidate as it was verified.
struct LaunchEdits {
  std::vector<ByteEdit> edits;
  std::vector<std::string> notes;
};

/// Edits of one launch site. `changed` are the knobs whose new values are already part of the patch: a grid that the
/// source computes from one of them follows by itself. `source` is the whole file that contains the site. A site that
/// launches several kernels is edited only if `one_template` says that all of them are instances of one template, which
/// change together. With a `guard` that is not empty the launch is the candidate's where it holds, and the one that
/// was written elsewhere; `beside` is the name of the kernel that is launched then, if it is another one.
Result<LaunchEdits> edit_launch(const Mep& mep, const LaunchSite& site, const CandidateLaunch& launch,
                                const Bindings& values, const Bindings& changed, const std::string& source,
                                bool one_template = false, const LaunchGuard& guard = {},
                                const std::string& beside = {});

}  // namespace kernelift::reintegrate
