// What the application is to be given when its own compiler cannot make it: a kernel's tuned PTX, ready to be embedded.
// Whoever makes it has a compiler (cli/embedding); here it is text that is planned with.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/store/run.h"

namespace kernelift {

struct EmbeddedCode {
  std::string ptx;                 ///< Without debug information, its version as low as makes the same machine code.
  std::string entry;               ///< Mangled.
  std::string compiler;            ///< "clang 22.1.8".
  std::string measured_on;         ///< Verdict::device.
  std::string origin;              ///< "candidate #41 of forces-1.klrun".
  std::string why;                 ///< Why it is not a source patch, with the figures: one sentence.
  std::vector<std::string> notes;  ///< How it was checked to be the image that was measured.
};

/// Compiles a candidate again, and refuses what is not the image that was measured.
using MakeEmbedded = std::function<Result<EmbeddedCode>(const RunTrial&)>;

}  // namespace kernelift
