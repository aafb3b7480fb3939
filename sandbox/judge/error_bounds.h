// By what the bytes of one buffer are judged: the layout of its elements and, for each lane of an element, how far its
// numbers may be from the reference. A particle's floats are compared within a tolerance, its id exactly, the padding
// between them not at all.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/model/element_layout.h"
#include "sandbox/judge/comparator.h"

namespace kernelift {

struct ErrorBounds {
  ElementLayout layout;
  std::vector<FloatTolerance> tolerances;  ///< One per lane.
  /// One per lane, or none; null where there is none for a lane. Of one answer: a copy for another is to have its own.
  std::vector<std::shared_ptr<const NearerReference>> nearer;

  explicit ErrorBounds(ElementLayout of = {});
  /// EXPECTS: equal sizes. Indices and offsets in the answer are those of elements and bytes of the buffer.
  Comparison compare(std::span<const std::byte> expected, std::span<const std::byte> got) const;
  /// Tolerances for a person; each different one once.
  std::string text() const;

 private:
  Comparator comparator(size_t lane) const;
};

}  // namespace kernelift
