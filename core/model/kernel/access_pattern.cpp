// See access_pattern.h. Steps are found by evaluating an offset twice.
#include "core/model/kernel/access_pattern.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/words.h"

namespace kernelift {
namespace {

using Access = KernelModel::Access;
using ObjectKind = KernelModel::Object::Kind;

constexpr int64_t kElsewhere = 7;  ///< Value of variables that are not looked at.
constexpr int64_t kWarp = 32, kSector = 32, kBanks = 32, kBankBytes = 4;
constexpr double kFarthest = 1e15;  ///< Bytes: no memory is so large, and no sum of such overflows.

int64_t sector_of(int64_t at) { return at >= 0 ? at / kSector : -((-at + kSector - 1) / kSector); }

bool depends_on_memory(const Expression& offset) {
  return std::ranges::any_of(offset.variables(), [](auto& name) { return name.starts_with("term."); });
}

}  // namespace

Bindings AccessPattern::usual(const Expression& offset) const {
  Bindings values;
  for (auto& name : offset.variables()) {
    values[name] = name.starts_with("arg.") ? 64 * kElsewhere : kElsewhere;
    if (auto known = values_.find(name); known != values_.end()) values[name] = known->second;
    for (int axis = 0; axis < 3; ++axis) {
      if (name == std::string("ntid.") + "xyz"[axis]) values[name] = along(launch_.block, axis);
      if (name == std::string("nctaid.") + "xyz"[axis]) values[name] = along(launch_.grid, axis);
    }
  }
  return values;
}

std::optional<int64_t> AccessPattern::step_of(const Expression& offset, const std::string& variable) const {
  if (depends_on_memory(offset)) return std::nullopt;
  if (!offset.uses(variable)) return 0;
  Bindings values = usual(offset);
  values[variable] = 0;
  const auto first = offset.evaluate(values);
  values[variable] = 1;
  const auto second = offset.evaluate(values);
  int64_t step = 0;
  if (!first.ok() || !second.ok() || __builtin_sub_overflow(*second, *first, &step)) return std::nullopt;
  return step;
}

std::string AccessPattern::axes_without(const Expression& offset) const {
  std::string axes;
  for (int axis = 0; axis < 3; ++axis)
    if (along(launch_.block, axis) > 1 && !offset.uses(std::string("tid.") + "xyz"[axis])) axes += "xyz"[axis];
  return axes;
}

std::vector<int64_t> AccessPattern::of_a_warp(const Expression& offset) const {
  std::vector<int64_t> offsets;
  Bindings values = usual(offset);
  const Dim3& block = launch_.block;
  const uint64_t threads = static_cast<uint64_t>(block.x) * block.y * block.z;
  for (uint64_t lane = 0; lane < std::min<uint64_t>(kWarp, threads); ++lane) {
    values["tid.x"] = static_cast<int64_t>(lane % block.x);
    values["tid.y"] = static_cast<int64_t>(lane / block.x % block.y);
    values["tid.z"] = static_cast<int64_t>(lane / block.x / block.y);
    const auto at = offset.evaluate(values);
    if (!at.ok() || std::abs(static_cast<double>(*at)) > kFarthest) return {};
    offsets.push_back(*at);
  }
  return offsets;
}

std::string AccessPattern::among_threads(const Access& access, bool shared) const {
  if (depends_on_memory(access.offset)) return "scattered: where depends on values in memory";
  const std::vector<int64_t> offsets = of_a_warp(access.offset);
  if (offsets.empty()) return "where is not known at these sizes";
  const int64_t bytes = access.bytes;
  const std::set<int64_t> elements(offsets.begin(), offsets.end());
  const std::string threads = offsets.size() < kWarp ? "the block's threads" : "a warp";
  if (elements.size() == 1) return offsets.size() == 1 ? "one thread" : "one element for " + threads;
  const bool repeated = elements.size() < offsets.size();
  const std::string some = threads + " reaches " + std::to_string(elements.size()) + " different elements, ";
  std::set<int64_t> sectors;
  for (int64_t at : elements)
    for (int64_t sector = sector_of(at); sector <= sector_of(at + bytes - 1); ++sector) sectors.insert(sector);
  if (shared) {
    // Of wide accesses as many threads are served at once as reach all banks.
    const size_t together = static_cast<size_t>(std::max<int64_t>(1, kWarp * kBankBytes / std::max(bytes, kBankBytes)));
    std::map<int64_t, std::set<int64_t>> words;  // By bank.
    for (size_t lane = 0; lane < std::min(together, offsets.size()); ++lane)
      for (int64_t word = offsets[lane] / kBankBytes; word <= (offsets[lane] + bytes - 1) / kBankBytes; ++word)
        words[((word % kBanks) + kBanks) % kBanks].insert(word);
    size_t ways = 1;
    for (auto& [bank, all] : words) ways = std::max(ways, all.size());
    return (repeated ? some : "") +
           (ways > 1 ? "a bank conflict of " + std::to_string(ways) + " ways" : "no bank conflict");
  }
  const auto needed = static_cast<size_t>((static_cast<int64_t>(elements.size()) * bytes + kSector - 1) / kSector);
  // What begins within a sector touches one more.
  if (*elements.rbegin() - *elements.begin() + bytes <= static_cast<int64_t>(needed + 1) * kSector)
    return repeated ? some + "which are adjacent" : "adjacent elements";
  return (repeated ? some + "in " : threads + " touches ") + std::to_string(sectors.size()) +
         " sectors of 32 bytes where " + std::to_string(needed) + " would do";
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
