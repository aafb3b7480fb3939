// See assumptions.h.
#include "core/legality/assumptions.h"

#include <algorithm>
#include <map>
#include <set>

namespace kernelift::legality {
namespace {

using Object = KernelModel::Object;

/// The widest alignment that the side's accesses to each argument need.
std::map<std::string, uint64_t> alignments(const Side& side) {
  std::map<std::string, uint64_t> widest;
  for (auto& access : side.model.accesses)
    if (auto& object = side.model.objects[access.object]; object.kind == Object::Kind::Argument)
      widest[object.name] = std::max<uint64_t>(widest[object.name], access.alignment);
  return widest;
}

}  // namespace

std::vector<Assumption> assumptions(const Side& original, const Side& candidate) {
  std::vector<Assumption> all;
  std::set<std::string> touched, unsigned_ones;
  bool written = false;
  for (auto* side : {&original, &candidate}) {
    for (auto& access : side->model.accesses) {
      auto& object = side->model.objects[access.object];
      if (object.kind != Object::Kind::Argument) continue;
      touched.insert(object.name);
      written |= access.kind != KernelModel::Access::Kind::Load;
    }
    for (auto& condition : side->model.assumed) unsigned_ones.merge(condition.variables());
  }
  if (written && touched.size() > 1)
    all.push_back({Assumption::Kind::DifferentMemory, {touched.begin(), touched.end()}, 0});
  auto before = alignments(original);
  for (auto& [name, bytes] : alignments(candidate))
    if (bytes > before[name]) all.push_back({Assumption::Kind::Aligned, {name}, bytes});
  for (auto& name : unsigned_ones) all.push_back({Assumption::Kind::NotNegative, {name}, 0});
  return all;
}

std::string to_text(const Assumption& assumption, const Names& names) {
  std::string list;
  for (auto& argument : assumption.arguments) {
    auto found = names.find(argument);
    list += (list.empty() ? "" : ", ") + (found == names.end() ? argument : found->second);
  }
  switch (assumption.kind) {
    case Assumption::Kind::DifferentMemory: return list + " point to different memory";
    case Assumption::Kind::Aligned: return list + " is a multiple of " + std::to_string(assumption.bytes) + " bytes";
    default: return list + " is not negative";
  }
}

}  // namespace kernelift::legality
