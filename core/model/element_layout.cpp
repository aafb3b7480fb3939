// See element_layout.h.
#include "core/model/element_layout.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace kernelift {
namespace {

constexpr uint32_t kLargestStride = 1 << 16;
constexpr size_t kMostLanes = 4096;

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ElementLayout> parse_struct(std::string_view text) {
  size_t close = text.rfind('}');
  if (!text.starts_with("{") || close == std::string_view::npos) return std::nullopt;
  auto stride = number(text.substr(close + 1));
  if (!stride || *stride == 0 || *stride > kLargestStride) return std::nullopt;
  ElementLayout layout;
  layout.lanes.clear(), layout.stride = *stride;
  std::string_view fields = text.substr(1, close - 1);
  uint32_t end = 0;
  while (!fields.empty()) {
    size_t comma = std::min(fields.find(','), fields.size());
    std::string_view field = fields.substr(0, comma);
    fields.remove_prefix(std::min(fields.size(), comma + 1));
    size_t at = field.find('@');
    if (at == std::string_view::npos) return std::nullopt;
    auto offset = number(field.substr(at + 1));
    Lane lane{ElementType::parse(field.substr(0, at)), offset.value_or(0)};
    if (!offset || *offset < end || *offset + lane.type.width > *stride || layout.lanes.size() >= kMostLanes)
      return std::nullopt;
    end = *offset + lane.type.width;
    layout.lanes.push_back(lane);
  }
  if (layout.lanes.empty()) return std::nullopt;
  return layout;
}

}  // namespace

ElementLayout ElementLayout::parse(std::string_view text) {
  if (auto structure = parse_struct(text)) return *structure;
  ElementType type = ElementType::parse(text);
  return {{{type, 0}}, type.width};
}

std::string spelled_element(std::vector<SpelledLane> lanes, uint64_t size) {
  std::ranges::sort(lanes, {}, &SpelledLane::first);
  bool uniform = !lanes.empty(), sound = uniform, floats = false;
  std::string text;
  uint64_t end = 0;
  for (auto& [offset, name] : lanes) {
    ElementType type = ElementType::parse(name);
    uniform &= name == lanes.front().second && offset == end;
    sound &= offset >= end;
    floats |= type.is_float();
    end = offset + type.width;
    text += (text.empty() ? "{" : ",") + name + "@" + std::to_string(offset);
  }
  if (!sound || end > size) return "byte";
  if (uniform && end == size) return lanes.front().second;
  return floats ? text + "}" + std::to_string(size) : "byte";
}

bool ElementLayout::has_floats() const {
  return std::any_of(lanes.begin(), lanes.end(), [](auto& lane) { return lane.type.is_float(); });
}

std::span<const std::byte> lane_bytes(const ElementLayout& layout, size_t lane, std::span<const std::byte> bytes,
                                      std::vector<std::byte>& gathered) {
  if (layout.plain()) return bytes;
  const Lane& wanted = layout.lanes[lane];
  size_t count = bytes.size() / layout.stride, width = wanted.type.width;
  gathered.resize(count * width);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(&gathered[i * width], &bytes[i * layout.stride + wanted.offset], width);
  return gathered;
}

}  // namespace kernelift
