// Arrays in registers that hold what a stencil reads along an index, and their text: `float a_rows[3][2]` for three
// consecutive values of the index, each with two reads beside each other.
#pragma once
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/stencils/shifted_reads.h"

namespace kernelift::tuner {

class RegisterWindows {
 public:
  /// `what`: what one value of the index stands for, "rows". nullopt: a type cannot be repeated.
  static std::optional<RegisterWindows> of(const KernelSource& source, const std::vector<ReadRun>& runs,
                                           const std::string& what);

  /// Values that a thread keeps, if each window is longer by `more`.
  size_t values(int64_t more) const;
  std::vector<std::string> declarations(int64_t more) const;
  /// Edits that read the values at `place` ("u", or empty for the window's begin) in place of the elements.
  std::vector<TextEdit> uses(const std::string& place) const;
  /// Loads of what the windows that begin at `place` hold at the counter's value and not before; it counts from
  /// `first`, which is 0 where there are gaps.
  std::vector<std::string> loads(const std::string& place, const std::string& counter,
                                 const std::string& first = "0") const;
  /// Moves every value to the place before, `other` being a name for a counter.
  std::vector<std::string> shifts(const std::string& other) const;
  bool has_gaps() const;
  /// "a and b".
  std::string arrays() const;
  std::vector<const clang::Stmt*> reads() const;

 private:
  struct Window {
    const clang::VarDecl* array = nullptr;
    std::string name, type;
    size_t length = 0;
    std::vector<size_t> runs = {};  ///< Indices in runs_.
  };
  explicit RegisterWindows(const KernelSource& source) : source_(&source) {}
  std::string value(const Window& window, const std::string& place, size_t distance, size_t run) const;

  const KernelSource* source_;
  std::vector<ReadRun> runs_;
  std::vector<Window> windows_;
};

}  // namespace kernelift::tuner
