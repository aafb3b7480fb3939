// A kernel's tuned PTX, ready to be embedded in an application whose own compiler cannot make the same code. It is made
// by cli/embedding, which has a compiler; this room only plans the patch that carries it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/store/run.h"

namespace kernelift::reintegrate {

struct EmbeddedCode {
  std::string ptx;                 ///< No debug information; the lowest PTX version that gives the same machine code.
  std::string entry;               ///< Mangled name of the kernel.
  std::string compiler;            ///< "clang 22.1.8".
  std::string measured_on;         ///< Verdict::device.
  std::string origin;              ///< "candidate #41 of forces-1.klrun".
  std::string why;                 ///< Why it is not a source patch, with the figures: one sentence.
  std::vector<std::string> notes;  ///< Caveats of the check that it is the image that was measured.
};

/// Compiles a candidate again, and refuses the result if it is not the image that was measured.
using MakeEmbedded = std::function<Result<EmbeddedCode>(const RunTrial&)>;

}  // namespace kernelift::reintegrate
