// The layers of the jail: what each holds back, and whether this machine has it. Each is tried, not looked up, because
// containers refuse what their kernel has.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

struct JailLayer {
  std::string name;  ///< "system calls", "files", …
  bool works = false;
  bool needed = false;     ///< Without it, candidates are run only if the user allows a weak jail.
  std::string mechanism;   ///< "Landlock, version 7"
  std::string holds_back;  ///< What candidates and their compilers cannot do, because of it.
  std::string without;     ///< What they can do where it is missing.
  std::string fix;         ///< What makes it work; empty if it does.
};

/// From the outermost need to the last. Tries each in a child process.
std::vector<JailLayer> jail_layers();

/// Error, exit Environment, if a needed layer is missing: it names the layers, what would be left open, and the fix.
Status require_jail();

}  // namespace kernelift::sandbox
