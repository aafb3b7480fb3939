// See assumptions.h.
#include "core/legality/assumptions.h"

#include <algorithm>
#include <map>
#include <set>

namespace kernelift::legality {
namespace {

using Object = KernelModel::Object;

using Access = KernelModel::Access;

/// What the condition joins that no thread decides: "aligned != 0", "w % 4 == 0".
std::vector<Expression> parts_of_launch(const Expression& condition) {
  if (condition.op() == Expression::Op::And) {
    auto all = parts_of_launch(condition.operands()[0]), more = parts_of_launch(condition.operands()[1]);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  const bool of_launch = !condition.as_constant() && std::ranges::all_of(condition.variables(), [](auto& name) {
    return name.starts_with("arg.") || name.starts_with("nctaid.");
  });
  return of_launch ? std::vector{condition} : std::vector<Expression>();
}

/// The side makes an access that is aligned so wherever the launch lets the other one be made.
bool aligns(const Side& side, const std::string& argument, const Access& other) {
  const auto given = parts_of_launch(other.domain);
  return std::ranges::any_of(side.model.accesses, [&](const Access& access) {
    auto& object = side.model.objects[access.object];
    const auto needed = parts_of_launch(access.domain);
    return object.kind == Object::Kind::Argument && object.name == argument && access.alignment >= other.alignment &&
           std::ranges::all_of(needed, [&](auto& part) { return std::ranges::find(given, part) != given.end(); });
  });
}

/// The widest alignment of the candidate's accesses to each argument that the original does not need.
std::map<std::string, uint64_t> new_alignments(const Side& original, const Side& candidate) {
  std::map<std::string, uint64_t> widest;
  for (auto& access : candidate.model.accesses) {
    auto& object = candidate.model.objects[access.object];
    if (object.kind != Object::Kind::Argument || access.alignment <= 1 || aligns(original, object.name, access))
      continue;
    widest[object.name] = std::max<uint64_t>(widest[object.name], access.alignment);
  }
  return widest;
}

}  // namespace

std::vector<Assumption> assumptions(const Side& original, const Side& candidate) {
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
  for (auto& [name, bytes] : new_alignments(original, candidate))
    all.push_back({Assumption::Kind::Aligned, {name}, bytes});
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
