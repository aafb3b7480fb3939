// See access_pattern.h. Steps are found by evaluating an offset twice.
#include "core/model/kernel/access_pattern.h"

#include <algorithm>
#include <numeric>

#include "core/base/words.h"

namespace kernelift {
namespace {

using Access = KernelModel::Access;
using ObjectKind = KernelModel::Object::Kind;

constexpr int64_t kElsewhere = 7;  ///< Value of variables that are not looked at.
constexpr int64_t kWarp = 32, kSector = 32, kBanks = 32, kBankBytes = 4;

bool depends_on_memory(const Expression& offset) {
  return std::ranges::any_of(offset.variables(), [](auto& name) { return name.starts_with("term."); });
}

}  // namespace

std::optional<int64_t> AccessPattern::step_of(const Expression& offset, const std::string& variable) const {
  if (depends_on_memory(offset)) return std::nullopt;
  if (!offset.uses(variable)) return 0;
  Bindings values;
  for (auto& name : offset.variables()) {
    values[name] = name.starts_with("arg.") ? 64 * kElsewhere : kElsewhere;
    if (auto known = values_.find(name); known != values_.end()) values[name] = known->second;
    for (int axis = 0; axis < 3; ++axis) {
      if (name == std::string("ntid.") + "xyz"[axis]) values[name] = along(launch_.block, axis);
      if (name == std::string("nctaid.") + "xyz"[axis]) values[name] = along(launch_.grid, axis);
    }
  }
  values[variable] = 0;
  const auto first = offset.evaluate(values);
  values[variable] = 1;
  const auto second = offset.evaluate(values);
  if (!first.ok() || !second.ok()) return std::nullopt;
  return *second - *first;
}

std::string AccessPattern::axes_without(const Expression& offset) const {
  std::string axes;
  for (int axis = 0; axis < 3; ++axis)
    if (along(launch_.block, axis) > 1 && !offset.uses(std::string("tid.") + "xyz"[axis])) axes += "xyz"[axis];
  return axes;
}

std::string AccessPattern::among_threads(const Access& access, bool shared) const {
  if (launch_.block.x <= 1) return "one thread along x";
  const auto step = step_of(access.offset, "tid.x");
  const int64_t bytes = access.bytes;
  if (!step) return "scattered: where depends on values in memory";
  if (*step == 0) return "the same element for all threads along x";
  const int64_t stride = std::abs(*step);
  if (stride == bytes) return "neighbouring threads, neighbouring elements";
  std::string text = "neighbouring threads " + std::to_string(stride) + " bytes apart";
  if (shared) {
    const int64_t way = stride % kBankBytes == 0 ? std::gcd(stride / kBankBytes, kBanks) : 1;
    return text + (way > 1 ? ", a bank conflict of " + std::to_string(way) + " threads" : "");
  }
  const int64_t touched = std::min(kWarp, (stride * (kWarp - 1) + bytes + kSector - 1) / kSector);
  const int64_t needed = std::max<int64_t>(1, kWarp * bytes / kSector);
  if (touched > needed)
    text += ": a warp touches " + std::to_string(touched) + " sectors of 32 bytes where " + std::to_string(needed) +
            " would do";
  return text;
}

std::vector<std::string> AccessPattern::lines(const KernelModel& model, const VariableNames& names) const {
  std::vector<std::string> lines;
  std::vector<const Access*> by_line;
  for (auto& access : model.accesses) by_line.push_back(&access);
  std::ranges::sort(by_line, {}, [](auto* access) { return std::pair(access->line, access); });
  for (auto* one : by_line) {
    const Access& access = *one;
    auto& object = model.objects[access.object];
    if (object.kind == ObjectKind::Local) continue;
    const bool shared = object.kind == ObjectKind::Shared, load = access.kind == Access::Kind::Load;
    std::string line = load ? "loads " : access.kind == Access::Kind::Store ? "stores " : "updates atomically ";
    line += std::to_string(access.bytes) + " bytes of " + to_text(object, names) + (shared ? " in shared memory" : "");
    if (access.line > 0) line += " (line " + std::to_string(access.line) + ")";
    line += ": " + among_threads(access, shared);
    if (!access.counters.empty()) {
      const auto walked = step_of(access.offset, access.counters.back());
      if (walked == 0) line += "; the same in every iteration of the innermost loop";
      else if (walked && std::abs(*walked) == access.bytes) line += "; the innermost loop walks along it";
      else if (walked)
        line += "; iterations of the innermost loop " + std::to_string(std::abs(*walked)) + " bytes apart";
    }
    const std::string alike = load && !depends_on_memory(access.offset) ? axes_without(access.offset) : "";
    if (const std::string others = alike.starts_with('x') ? alike.substr(1) : alike; !others.empty())
      line += "; all threads along " + others + " read the same";
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace kernelift
