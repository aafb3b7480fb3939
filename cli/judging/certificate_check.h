// `kernelift evaluate MEP --certificate FILE`: confirms a certificate's candidate again on this machine, at the sizes
// that it names, and says what agrees.
#pragma once
#include <filesystem>

#include "cli/verb.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {

/// Exit Done: all that the certificate says of the candidate holds here, but for what may differ between machines.
Result<Exit> check_certificate(const Mep& mep, const std::filesystem::path& folder,
                               const std::filesystem::path& certificate, sandbox::EvaluatorOptions options,
                               const Context& context);

}  // namespace kernelift::cli
