// The generated header that carries embedded PTX into an application: the text of the PTX, the guard, and launch(),
// which stands where `kernel<<<…>>>` stood. It needs nothing but CUDA's runtime, touches no build file, and in every
// case of doubt (another GPU, another shape, an old toolkit, a capturing stream, any failure) launches the original
// kernel.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/mep.h"
#include "reintegrate/embed/bound_variables.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/embed/shape_guard.h"

namespace kernelift {

/// "kernelift_forces", "kernelift_ns_smooth_float_8": of the header file and of its namespace. What such a name cannot
/// tell apart (k<-1> and k<1>) gets a hash; kernels of one name in several files are for the caller to tell apart.
std::string launcher_name(const std::string& kernel_name);

/// `bound`: what each launch copies first; `launched_in`: the files whose launches go through it. `header`: where it
/// goes in the application, its stem the launcher's name; empty: "<launcher_name>.cuh". Refuses code for a GPU whose
/// name is no compute capability.
Result<std::string> launcher_text(const Mep& mep, const Candidate& candidate, const EmbeddedCode& code,
                                  const ShapeGuard& guard, const std::vector<BoundVariable>& bound,
                                  const std::vector<std::string>& launched_in,
                                  const std::filesystem::path& header = {});

/// What stands before "launch(…)" at a site: "kernelift_scale::", or "kernelift_scale::bind(taps).".
std::string launcher_prefix(const std::string& launcher, const std::vector<BoundVariable>& bound);

}  // namespace kernelift
