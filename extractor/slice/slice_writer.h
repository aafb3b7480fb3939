// From a closure to text: the needed pieces of every file in the order in which the compiler read them, in their
// namespaces, with the original line of every output line. The bytes of a piece are the user's, unchanged except for
// two edits that preserve the meaning: bodies of host functions become ';', and a piece that begins in one branch of a
// conditional and ends in another keeps only the active text.
#pragma once
#include <string>
#include <vector>

#include "extractor/slice/slice.h"
#include "extractor/source/closure.h"

namespace kernelift::extractor {

struct SliceText {
  std::string text;
  std::vector<LineOrigin> origins;
  std::vector<SlicedRange> taken;
};

/// Conditionals inside a piece: kept as written, with the branches for other passes; or resolved to the active text.
enum class Conditionals { Kept, Resolved };
SliceText write_slice(const ParsedUnit& unit, const SourceItems& items, const Closure& closure,
                      Conditionals conditionals = Conditionals::Kept);

/// The whole unit as one text: every user header in place of its #include, system headers by name. The application's
/// main() is renamed, so that a harness can have its own. The bodies in `cuts` are left out.
SliceText write_whole_unit(const ParsedUnit& unit, const std::vector<BodyCut>& cuts = {});

/// Appends a line that has no original.
void append_line(SliceText& slice, const std::string& line);

}  // namespace kernelift::extractor
