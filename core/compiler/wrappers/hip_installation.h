// Files of a ROCm installation besides its compiler: CMake's packages hip-lang, hip, hipcub and rocthrust, and the two
// programs that build systems run. They are texts that find the look-alike by their own path.
#pragma once
#include <string>
#include <vector>

namespace kernelift::wrappers {

struct InstalledText {
  std::string path;  ///< Relative to the look-alike.
  std::string text;
  bool program = false;  ///< To be made executable.
};
std::vector<InstalledText> hip_installation();

}  // namespace kernelift::wrappers
