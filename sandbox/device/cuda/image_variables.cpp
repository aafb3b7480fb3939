// See image_variables.h.
#include "sandbox/device/cuda/image_variables.h"

#include <regex>

namespace kernelift::sandbox {
namespace {

std::vector<CubinVariable> variables_of_ptx(std::string_view text) {
  static const std::regex declaration(
      R"((\.visible|\.weak|\.common)?\s*\.(global|const)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+\d+\s+)?\.([bsuf])(\d+)\s+([\w$]+)((?:\[\d+\])?))");
  std::vector<CubinVariable> found;
  std::string all(text);
  for (std::sregex_iterator at(all.begin(), all.end(), declaration), end; at != end; ++at) {
    const std::smatch& match = *at;
    uint64_t width = std::stoul(match[4]) / 8, count = 1;
    std::string dimension = match[6];
    if (dimension.size() > 2) count = std::strtoull(dimension.c_str() + 1, nullptr, 10);
    CubinVariable variable;
    variable.name = match[5], variable.size = width * count;
    variable.constant = match[2] == "const", variable.local = !match[1].matched;
    found.push_back(std::move(variable));
  }
  return found;
}

}  // namespace

Result<std::vector<CubinVariable>> variables_of_image(std::string_view image) {
  if (!is_cubin(image)) return variables_of_ptx(image);
  KERNELIFT_ASSIGN(CubinSymbols symbols, read_cubin(image));
  return std::move(symbols.variables);
}

}  // namespace kernelift::sandbox
