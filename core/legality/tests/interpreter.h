// Runs a kernel's unoptimised device IR for given sizes, thread by thread, and lists the memory that it touches: what a
// model of it has to say.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/legality/legality.h"

namespace kernelift::legality {

struct TouchedByte {
  KernelModel::Access::Kind kind = KernelModel::Access::Kind::Load;
  std::string object;  ///< "arg.a0", or a variable's mangled name.
  int64_t offset = 0;
  auto operator<=>(const TouchedByte&) const = default;
};

/// nullopt: a branch or an index depends on memory or on a float, or something is not interpreted. Threads' own
/// variables are left out. EXPECTS: the source has one kernel.
std::optional<std::set<TouchedByte>> interpret(const std::string& source, const LaunchShape& launch,
                                               const Bindings& sizes);

}  // namespace kernelift::legality
