// CMake's language HIP uses in this order: $HIPCXX for the compiler, hipconfig for the installation's root, in that
// root lib/cmake/hip-lang, and rocm_agent_enumerator for an architecture. find_package(hip) is the older way. The
// packages' targets have ROCm's names; each only states the folders of the headers and the runtime.
#include "core/compiler/wrappers/hip_installation.h"

namespace kernelift::wrappers {
namespace {

constexpr const char* kVersion = "6.4.0";  // The same as in hip/hip_version.h.

/// The platform is amd, because its builds use the flags of hipcc and clang. The architecture is one whose warps have
/// 32 lanes.
constexpr const char* kHipconfig = R"(#!/bin/sh
# Kernelift's CPU device in place of an installation of HIP.
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- --full
for question; do
  case $question in
    -p | --path | -R | --rocmpath) printf %s "$root" ;;
    -l | --hipclangpath) printf %s "$root/bin" ;;
    -C | --cpp_config) printf ' -D__HIP_PLATFORM_NVIDIA__= -I%s/include' "$root" ;;
    -P | --platform) printf amd ;;
    -c | --compiler) printf clang ;;
    -r | --runtime) printf kernelift ;;
    -v | --version) printf @VERSION@ ;;
    -n | --newline) echo ;;
    *) printf 'HIP version: @VERSION@\nHIP_PATH: %s\nHIP_PLATFORM: amd\n' "$root" ;;
  esac
done
)";
constexpr const char* kAgents = R"(#!/bin/sh
# Kernelift's CPU device in place of the GPUs of this machine.
echo gfx1100
)";

constexpr const char* kTargets = R"(# Kernelift's CPU device in place of ROCm's package @PACKAGE@.
get_filename_component(_kernelift_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(_kernelift_target @TARGETS@)
  if(NOT TARGET @NAMESPACE@::${_kernelift_target})
    add_library(@NAMESPACE@::${_kernelift_target} INTERFACE IMPORTED)
    set_target_properties(@NAMESPACE@::${_kernelift_target} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${_kernelift_root}/include"
      INTERFACE_LINK_LIBRARIES "${_kernelift_root}/lib64/libamdhip64.so")
  endif()
endforeach()
)";
constexpr const char* kLanguage = "set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)\n";
/// hip::device makes C++ sources HIP if the C++ compiler supports that language; hipcc does so by itself.
constexpr const char* kHip = R"(set_property(TARGET hip::device PROPERTY
  INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-x hip>")
set(hip_INCLUDE_DIR "${_kernelift_root}/include")
set(hip_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(hip_LIBRARIES hip::host)
set(hip_BIN_INSTALL_DIR "${_kernelift_root}/bin")
set(hip_HIPCC_EXECUTABLE "${_kernelift_root}/bin/hipcc")
set(hip_HIPCONFIG_EXECUTABLE "${_kernelift_root}/bin/hipconfig")
set(HIP_PLATFORM amd)
set(HIP_COMPILER clang)
)";
constexpr const char* kPackageVersion = R"(set(PACKAGE_VERSION @VERSION@)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
)";

std::string filled(std::string text, const std::string& mark, const std::string& value) {
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += value.size()) text.replace(at, mark.size(), value);
  return text;
}

struct Package {
  const char *name, *scope, *targets, *more;
};
constexpr Package kPackages[] = {
    {"hip-lang", "hip-lang", "device host amdhip64", kLanguage},
    {"hip", "hip", "device host amdhip64", kHip},
    {"hipcub", "hip", "hipcub", ""},
    {"rocthrust", "roc", "rocthrust", ""},
};

}  // namespace

std::vector<InstalledText> hip_installation() {
  std::vector<InstalledText> all = {{"bin/hipconfig", filled(kHipconfig, "@VERSION@", kVersion), true},
                                    {"bin/rocm_agent_enumerator", kAgents, true}};
  for (const Package& package : kPackages) {
    const std::string start = std::string("lib64/cmake/") + package.name + "/" + package.name + "-config";
    std::string text = filled(filled(filled(kTargets, "@PACKAGE@", package.name), "@NAMESPACE@", package.scope),
                              "@TARGETS@", package.targets);
    all.push_back({start + ".cmake", text + package.more});
    all.push_back({start + "-version.cmake", filled(kPackageVersion, "@VERSION@", kVersion)});
  }
  return all;
}

}  // namespace kernelift::wrappers
