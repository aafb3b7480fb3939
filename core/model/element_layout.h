// What the elements of a buffer are made of: a scalar, or a struct whose fields are each of their own type. A struct is
// spelled "{float@0,int@12}16": types at byte offsets, then the element's size in bytes. Text that is neither a known
// name nor a sound layout means plain bytes.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/element.h"

namespace kernelift {

/// One scalar of an element.
struct Lane {
  ElementType type;
  uint32_t offset = 0;
  bool operator==(const Lane&) const = default;
};

struct ElementLayout {
  std::vector<Lane> lanes{Lane{}};  ///< By offset; never empty.
  uint32_t stride = 1;              ///< Bytes from one element to the next.

  static ElementLayout parse(std::string_view text);
  /// A row of scalars: its bytes are its only lane.
  bool plain() const { return lanes.size() == 1 && lanes[0].offset == 0 && lanes[0].type.width == stride; }
  bool has_floats() const;
  bool operator==(const ElementLayout&) const = default;
};

/// A scalar of an element by its offset and the name of its type.
using SpelledLane = std::pair<uint64_t, std::string>;
/// What ElementLayout::parse() reads, of an element of `size` bytes: "float" where all is that, "{float@0,int@4}8" for
/// a mixture that holds floats, "byte" for everything else, which is as well compared as bytes.
std::string spelled_element(std::vector<SpelledLane> lanes, uint64_t size);

/// One lane of all elements in a row: `bytes` itself when the layout is plain, else gathered into `gathered`.
std::span<const std::byte> lane_bytes(const ElementLayout& layout, size_t lane, std::span<const std::byte> bytes,
                                      std::vector<std::byte>& gathered);

}  // namespace kernelift
