// See written_regions.h.
#include "sandbox/evaluate/runner/memory/written_regions.h"

#include "core/base/bytes.h"
#include "sandbox/evaluate/runner/baseline_report.h"

namespace kernelift::sandbox {
namespace {

/// Whether one of the words of this parameter's argument is an address inside the region.
bool points_into(const MepInstance& instance, size_t parameter, const MepRegion& region) {
  if (parameter >= instance.parameters.size()) return false;
  auto [offset, size] = instance.parameters[parameter];
  for (uint64_t at = offset;
       at + sizeof(uint64_t) <= std::min<uint64_t>(uint64_t(offset) + size, instance.arguments.size());
       at += sizeof(uint64_t))
    if (uint64_t word = word_at(instance.arguments, at); word >= region.address && word < region.address + region.size)
      return true;
  return false;
}

}  // namespace

WrittenRegions::WrittenRegions(const Mep& mep) : mep_(mep) {
  for (auto& instance : mep.instances)
    for (auto& region : instance.regions) {
      if (region.before == region.after) continue;
      if (region.parameter >= 0) parameters_.insert(region.parameter);
      addresses_.insert(region.address);
    }
}

Writes WrittenRegions::of(const MepInstance& instance, const MepRegion& region) const {
  if (region.parameter >= 0 ? parameters_.contains(region.parameter) : addresses_.contains(region.address))
    return Writes::Does;
  if (region.parameter < 0 || static_cast<size_t>(region.parameter) >= mep_.parameters.size()) return Writes::Perhaps;
  // One allocation may be read through one parameter and written through another.
  Writes most = Writes::No;
  for (size_t i = 0; i < mep_.parameters.size(); ++i) {
    const ScannedParameter& parameter = mep_.parameters[i];
    if (parameter.pointee_const || (static_cast<int>(i) != region.parameter && !points_into(instance, i, region)))
      continue;
    most = std::max(most, parameter.pointee.empty() ? Writes::Perhaps : Writes::Likely);
  }
  return most;
}

bool changes_anything(const Mep& mep) {
  auto changed = [](auto& memory) { return memory.before != memory.after; };
  return std::ranges::any_of(mep.instances, [&](auto& instance) {
    return std::ranges::any_of(instance.regions, changed) || std::ranges::any_of(instance.variables, changed);
  });
}

std::string unverifiable(const Mep& mep, const BaselineReport& report) {
  // Held-out instances count, since every candidate is verified on them too. Memory that is read before it is written
  // (atomicMax, a flag that is set once) and did not change does not count: a kernel that does nothing leaves the same.
  for (auto& instance : report.instances)
    if (std::ranges::any_of(instance.buffers, [](auto& buffer) { return buffer.written; })) return {};
  return "no recorded launch of " + (mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name) +
         " changes anything in memory, nor is it known to write anything whatever was there before, so a kernel that "
         "does nothing would pass as well; record a run in which it has work to do";
}

}  // namespace kernelift::sandbox
