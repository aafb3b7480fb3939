// What a recording says of a kernel to who is to make it faster, a model or an agent: what the inputs look like
// (ranges, zeros, order, how many values there are), and how the kernel reaches them. Launches that are held out stay
// out.
#pragma once
#include <string>
#include <vector>

#include "core/model/element.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/mep.h"

namespace kernelift {

/// Of elements of that type: "0.02 … 1.98, 3 % zeros, rising". Empty for bytes of a type that is not known.
std::string values_text(const ElementType& type, std::span<const std::byte> bytes);

/// One text per parameter; empty: it is no pointer to numbers, was not recorded, or has more than 16 MiB. Of the launch
/// with the most weight among those that are not held out.
std::vector<std::string> input_values(const Mep& mep, const std::filesystem::path& folder);

/// How each access lies in memory, a line each (core/model/kernel/access_pattern.h): at that launch's geometry and
/// sizes, in the parameters' names.
std::vector<std::string> access_lines(const Mep& mep, const KernelModel& model);

}  // namespace kernelift
