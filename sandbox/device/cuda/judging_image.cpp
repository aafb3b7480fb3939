// See judging_image.h.
#include "sandbox/device/cuda/judging_image.h"

#include <map>

namespace kernelift::sandbox {
namespace {

constexpr unsigned char kPtx[] = {
#include KERNELIFT_JUDGING_PTX
};
// Defines kCubins: machine code by architecture.
#include KERNELIFT_JUDGING_IMAGES

}  // namespace

std::string_view judging_ptx() { return {reinterpret_cast<const char*>(kPtx), sizeof kPtx}; }

std::string_view judging_cubin(const std::string& arch) {
  auto found = kCubins.find(arch);
  return found == kCubins.end() ? std::string_view() : found->second;
}

}  // namespace kernelift::sandbox
