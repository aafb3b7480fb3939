// What a ROCm installation has beside its compiler: CMake's packages hip-lang, hip, hipcub and rocthrust, and the two
// programs that build systems ask. Texts only, which find the look-alike by where they lie.
#pragma once
#include <string>
#include <vector>

namespace kernelift::wrappers {

struct InstalledText {
  std::string path;  ///< In the look-alike.
  std::string text;
  bool program = false;
};
std::vector<InstalledText> hip_installation();

}  // namespace kernelift::wrappers
