// A change of some bytes of a file of the application.
#pragma once
#include <cstdint>
#include <string>

namespace kernelift::reintegrate {

/// Who wrote an edit's text: the candidate, whose text nobody trusts; or we, as a knob's new number or as code that is
/// generated from the application's own text (a launch's geometry, a launch through embedded code).
enum class Author { Candidate, Knob, Generated };

/// Bytes [begin, end) of `file` become `text`.
struct ByteEdit {
  std::string file;
  uint64_t begin = 0, end = 0;
  std::string text;
  std::string what;  ///< For messages: "the grid of the launch at solver.cu:41".
  Author author = Author::Candidate;
  std::string copied = {};  ///< If not empty, what is generated there from the application's own text; the candidate's
                            ///< text takes its place.
};

}  // namespace kernelift::reintegrate
