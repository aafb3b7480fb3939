// Generates the header that carries embedded PTX into an application: the text of the PTX, the guard, and launch(),
// which replaces `kernel<<<…>>>`. The header needs only the CUDA runtime and no change of the build files. In every
// doubtful case (another GPU, another shape, an old toolkit, a capturing stream, any failure) it launches the original
// kernel.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "reintegrate/embed/bound_variables.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/embed/shape_guard.h"

namespace kernelift::reintegrate {

/// Name of the header file and of its namespace: "kernelift_forces", "kernelift_ns_smooth_float_8". Kernels whose names
/// would otherwise map to the same identifier (k<-1> and k<1>) get a hash; for kernels of one name in several files,
/// see LauncherFile.
std::string launcher_name(const std::string& kernel_name);

/// The text of the header. `bound`: the constants that each launch copies first. `launched_in`: the files whose
/// launches go through it. `header`: its path in the application, whose stem names the launcher; empty:
/// "<launcher_name>.cuh". Refuses PTX whose target is not a plain compute capability.
Result<std::string> launcher_text(const Mep& mep, const Candidate& candidate, const EmbeddedCode& code,
                                  const ShapeGuard& guard, const std::vector<BoundVariable>& bound,
                                  const std::vector<std::string>& launched_in,
                                  const std::filesystem::path& header = {});

/// The prefix of "launch(…)" at a launch site: "kernelift_scale::", or "kernelift_scale::bind(taps).".
std::string launcher_prefix(const std::string& launcher, const std::vector<BoundVariable>& bound);

}  // namespace kernelift::reintegrate
