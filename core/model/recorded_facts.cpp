// See recorded_facts.h.
#include "core/model/recorded_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unordered_set>

#include "core/model/kernel/access_pattern.h"
#include "core/model/kernel/declared_number.h"

namespace kernelift {
namespace {

constexpr uint64_t kMostBytes = 16 << 20;
constexpr size_t kMostDistinct = 1 << 16;  ///< Distinct values that are counted.
constexpr size_t kFewDistinct = 16;        ///< Of so many the number is said though they are not repeated often.

std::string share_text(size_t part, size_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (percent > 99 && part < whole) return "over 99 %";
  char text[32];
  std::snprintf(text, sizeof text, percent < 10 ? "%.2g %%" : "%.0f %%", percent);
  return text;
}

/// Ordered as the values are. ElementType::ordered() does that of floats, whose bits are a sign and a size.
int64_t ordered(const ElementType& type, const std::byte* at) {
  if (type.is_float()) return type.ordered(at);
  uint64_t bits = 0;
  std::memcpy(&bits, at, type.width);  // Little endian, as all machines here.
  if (type.kind != ElementType::Kind::Signed) return static_cast<int64_t>(bits ^ (type.width == 8 ? 1ull << 63 : 0));
  const unsigned unused = 64 - 8 * type.width;
  return static_cast<int64_t>(bits << unused) >> unused;
}

/// nullptr: all are held out.
const MepInstance* shown_launch(const Mep& mep) {
  const MepInstance* shown = nullptr;
  for (auto& instance : mep.instances)
    if (!instance.held_out && (!shown || instance.weight > shown->weight)) shown = &instance;
  return shown;
}

}  // namespace

std::string values_text(const ElementType& type, std::span<const std::byte> bytes) {
  const size_t count = bytes.size() / type.width;
  if (type.kind == ElementType::Kind::Bytes || count == 0) return {};
  size_t zeros = 0, not_finite = 0, whole = 0;
  bool rising = true, falling = true;
  const std::byte *least = nullptr, *most = nullptr, *before = nullptr;
  std::unordered_set<int64_t> distinct;
  const std::byte nothing[8] = {};
  const int64_t zero = ordered(type, nothing);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* at = bytes.data() + i * type.width;
    if (type.is_float() && !std::isfinite(type.real(at))) {
      ++not_finite, rising = falling = false;
      continue;
    }
    const int64_t value = ordered(type, at);
    zeros += value == zero;
    whole += type.is_float() && type.real(at) == std::trunc(type.real(at));
    if (distinct.size() < kMostDistinct) distinct.insert(value);
    if (!least || value < ordered(type, least)) least = at;
    if (!most || value > ordered(type, most)) most = at;
    if (before) rising &= value >= ordered(type, before), falling &= value <= ordered(type, before);
    before = at;
  }
  if (!least) return "no finite number";
  if (distinct.size() == 1 && not_finite == 0) return "all " + type.show(least);
  std::string text = type.show(least) + " … " + type.show(most);
  if (zeros > 0) text += ", " + share_text(zeros, count) + " zeros";
  if (not_finite > 0) text += ", " + share_text(not_finite, count) + " infinite or not a number";
  if (type.is_float() && whole == count) text += ", whole numbers";
  if (rising || falling) text += rising ? ", rising" : ", falling";
  if (distinct.size() < kMostDistinct && (distinct.size() <= kFewDistinct || 2 * distinct.size() <= count))
    text += ", " + std::to_string(distinct.size()) + " different values";
  return text;
}

std::vector<std::string> input_values(const Mep& mep, const std::filesystem::path& folder) {
  std::vector<std::string> texts(mep.parameters.size());
  const MepInstance* shown = shown_launch(mep);
  if (!shown) return texts;
  for (auto& region : shown->regions) {
    if (region.parameter < 0 || static_cast<size_t>(region.parameter) >= texts.size() || region.size > kMostBytes ||
        !region.reached_from.is_whole_argument() || !texts[static_cast<size_t>(region.parameter)].empty())
      continue;
    auto bytes = Mep::load(folder, region.before);
    if (bytes.ok())
      texts[static_cast<size_t>(region.parameter)] = values_text(ElementType::parse(region.element), *bytes);
  }
  return texts;
}

std::vector<std::string> access_lines(const Mep& mep, const KernelModel& model) {
  const MepInstance* shown = shown_launch(mep);
  if (!shown) return {};
  VariableNames names;
  Bindings values;
  for (size_t p = 0; p < mep.parameters.size(); ++p) {
    const std::string variable = "arg.a" + std::to_string(p);
    names[variable] = mep.parameters[p].name;
    if (auto value = mep.integer_argument(*shown, p))
      values[variable] = as_models_read(mep.parameters[p].scalar, *value);
  }
  for (auto& member : model.members)
    if (auto value = mep.integer_member(*shown, member.parameter, member.offset, member.type))
      values[member.variable()] = as_models_read(member.type, *value);
  return AccessPattern(shown->geometry, std::move(values)).lines(model, with_members(std::move(names), model.members));
}

}  // namespace kernelift
