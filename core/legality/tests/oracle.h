// What a launch does with memory for given sizes, by going through all threads and iterations: the same questions as
// the comparison's, answered by counting.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/legality/legality.h"

namespace kernelift::legality {

/// An object's name, which is kept once: millions of them are compared.
class Name {
 public:
  Name(const std::string& text);
  const std::string& text() const { return *text_; }
  auto operator<=>(const Name&) const = default;

 private:
  const std::string* text_;
};

struct Observed {
  using Byte = std::pair<Name, int64_t>;                                 ///< Object and offset.
  std::set<Byte> touched, stored, changed;                               ///< Of arguments and variables.
  std::set<std::tuple<KernelModel::Access::Kind, Name, int64_t>> bytes;  ///< Of all but threads' own memory.
  std::set<std::string> written;      ///< Objects that some access of the kernel stores to or changes, at any size.
  std::set<Byte> conflicting;         ///< Written by one thread and touched by another, unordered.
  std::set<Byte> shared_conflicting;  ///< The same, in shared arrays.
  bool strays = false;                ///< Beyond an array of fixed extent.
  bool misaligned = false;
  bool divergent = false;  ///< Some threads of a block miss a barrier.
  bool launched = false;   ///< The grid has a size.
};

/// nullopt: too many instances, a value that changes during a launch, or an expression without a value. Values in
/// memory are drawn, the same for equal terms and arguments.
std::optional<Observed> observe(const Side& side, const Bindings& sizes);

/// What the candidate does wrong; empty: nothing. EXPECTS: `original` was launched and does not stray.
std::string difference(const Observed& original, const Observed& candidate);

}  // namespace kernelift::legality
