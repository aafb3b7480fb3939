// Candidates' texts from bytes, by a grammar of what C++ and CUDA allow at file scope, in a class and in a kernel. Most
// are close to well-formed and use names of headers, since what no compiler reads can change no program.
#pragma once
#include <string>
#include <string_view>

namespace kernelift::fuzz {

struct GrammarText {
  std::string text;   ///< `original` with pieces put in.
  std::string added;  ///< The pieces alone; with the kernel's name, if its declaration is changed.
};

/// EXPECTS: `original` has a line that begins with "// The kernel." in front of the kernel and a line "}" behind it.
GrammarText candidate_text(std::string_view bytes, const std::string& original);

}  // namespace kernelift::fuzz
