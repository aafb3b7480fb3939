// From a closure to text: the needed pieces of every file in the order the compiler met them, in their namespaces, each
// output line knowing the line it came from. Bytes inside a piece are the user's, untouched, but for two edits that
// keep the text meaning what it meant: bodies of host functions become ';', and a piece that begins inside one branch
// of a conditional and ends in another keeps only what was active.
#pragma once
#include <string>
#include <vector>

#include "extractor/slice/slice.h"
#include "extractor/source/closure.h"

namespace kernelift {

struct SliceText {
  std::string text;
  std::vector<LineOrigin> origins;
  std::vector<SlicedRange> taken;
};

/// Conditionals inside a piece: as they are written, with what other passes see; or only what was active.
enum class Conditionals { Kept, Resolved };
SliceText write_slice(const ParsedUnit& unit, const SourceItems& items, const Closure& closure,
                      Conditionals conditionals = Conditionals::Kept);

/// The whole unit as one text: every user header in the place where it was included, system headers by name. The
/// application's main() is renamed, so that a harness can have its own. With `cuts`, those bodies are left out.
SliceText write_whole_unit(const ParsedUnit& unit, const std::vector<BodyCut>& cuts = {});

/// Appends a line of ours.
void append_line(SliceText& slice, const std::string& line);

}  // namespace kernelift
