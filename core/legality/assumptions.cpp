// See assumptions.h.
#include "core/legality/assumptions.h"

#include <algorithm>
#include <map>
#include <set>

namespace kernelift::legality {
namespace {

using Object = KernelModel::Object;

}  // namespace

std::vector<Assumption> assumptions(const Side& original, const Side& candidate,
                                    const std::map<std::string, uint64_t>& alignments) {
  std::vector<Assumption> all;
  std::set<std::string> touched;
  bool written = false;
  for (auto* side : {&original, &candidate}) {
    for (auto& access : side->model.accesses) {
      auto& object = side->model.objects[access.object];
      if (object.kind != Object::Kind::Argument) continue;
      touched.insert(object.name);
      written |= access.kind != KernelModel::Access::Kind::Load;
    }
  }
  if (written && touched.size() > 1)
    all.push_back({Assumption::Kind::DifferentMemory, {touched.begin(), touched.end()}, 0});
  for (auto& [name, bytes] : alignments) all.push_back({Assumption::Kind::Aligned, {name}, bytes});
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
    default: return list + " is a multiple of " + std::to_string(assumption.bytes) + " bytes";
  }
}

}  // namespace kernelift::legality
