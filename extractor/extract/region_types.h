// What recorded memory holds, by the types of the pointers that lead there: the arguments', members of structures
// included, those in module variables, and from there down through memory whose own type says where addresses lie in
// it. An allocation may hold many arrays: where pointers of different types lead into it, each of them begins one.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/capture.h"
#include "core/model/scan/scan_index.h"
#include "extractor/extract/module_facts.h"

namespace kernelift::extractor {

/// Eight bytes of the arguments that hold an address by their type.
struct ArgumentAddress {
  int parameter = 0;
  uint32_t member = 0;  ///< Offset in the parameter.
  uint64_t value = 0;
  std::string type;  ///< Of what lies there, as ScannedParameter::pointee has it.
};
std::vector<ArgumentAddress> argument_addresses(const CapturedInstance& instance, const ScannedKernel& kernel);
/// Whether these are all there are: false where a parameter's type, or that of a part of it, is not known.
bool knows_all_addresses(const CapturedInstance& instance, const ScannedKernel& kernel);

/// One array within a region.
struct RegionArray {
  uint64_t begin = 0, end = 0;  ///< Offsets in the region.
  std::string type;             ///< Of its elements; empty: not known.
  int parameter = -1;           ///< That points to it; -1: as for the whole region.
  uint32_t member = 0;          ///< Where in the parameter.
  std::string doubt = {};       ///< Why the type is not known though there are pointers of known type; or empty.
};

using ImageLoader = std::function<Result<std::span<const std::byte>>(const Image&)>;
/// For each region its arrays, of which none is empty and which together are all of it. Pointers in the arguments are
/// believed. Those in memory may be left over from earlier: they type a region where all agree that lead there, and
/// where they do not, the arrays that they begin are bytes.
Result<std::vector<std::vector<RegionArray>>> region_arrays(const CapturedInstance& instance,
                                                            const ScannedKernel& kernel, const ImageLoader& load);

/// Element type of what a pointer to `pointee` points to, as a MEP spells it: "float" from "float" or from a structure
/// of floats, "pointer" from "float *", "byte" where it is unknown.
std::string element_of(const std::string& pointee, const ScannedKernel& kernel);
/// Where addresses lie in such an element.
PointerLayout pointers_of(const std::string& pointee, const ScannedKernel& kernel);

}  // namespace kernelift::extractor
