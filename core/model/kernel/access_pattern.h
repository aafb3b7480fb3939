// How a kernel's accesses lie in memory, at one launch: how far neighbouring threads and iterations are apart, and
// which threads read the same element. For people, for prompts, and for the likeness of kernels.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"

namespace kernelift {

class AccessPattern {
 public:
  /// `values`: of integer parameters ("arg.a3"), as recorded; those that are missing have one arbitrary value, as every
  /// variable has that is not looked at: an offset in which a step depends on that value is strided in any case.
  explicit AccessPattern(const Geometry& launch, Bindings values = {}) : launch_(launch), values_(std::move(values)) {}

  /// Bytes that one more of the variable makes; nullopt: that depends on values in memory.
  std::optional<int64_t> step_of(const Expression& offset, const std::string& variable) const;
  /// Axes of the block, of "xyz", along which all threads have the same offset.
  std::string axes_without(const Expression& offset) const;
  /// One clause each: "loads 4 bytes of x (line 12): adjacent elements". Each access once, in
  /// the order of the source.
  std::vector<std::string> lines(const KernelModel& model, const VariableNames& names) const;

 private:
  /// Values of all variables.
  Bindings usual(const Expression& offset) const;
  /// The offsets of the threads of a block's first warp; empty: they are not known.
  std::vector<int64_t> of_a_warp(const Expression& offset) const;
  std::string among_threads(const KernelModel::Access& access, bool shared) const;

  Geometry launch_;
  Bindings values_;
};

}  // namespace kernelift
