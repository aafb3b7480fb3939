// Integers that launches give to a kernel's template: as numbers, `scale<float, 128><<<n / 128, 128>>>(…)`, which are
// knobs of that instance; or by the name of a constant, `scale<float, BLOCK><<<n / BLOCK, BLOCK>>>(…)`, which is the
// knob, with all that use it. None is
//   - an argument that a launch of the instance spells otherwise, or that a launch gives to several instances;
//   - one on which the kernel's parameters depend, which callers fill;
//   - one that the kernel's text compares with values, to select a case;
//   - one of a template that is overloaded or specialised, or whose text uses a specialised template: with another
//     argument, text would run that the kernel's text does not hold.
#pragma once
#include <vector>

#include "extractor/scan/launch_finder.h"
#include "extractor/source/closure.h"

namespace kernelift::extractor {

struct FoundArgument {
  Knob knob;  ///< Of a number: `value_range` at the first launch; `kernels` left empty.
  clang::SourceLocation parameter;
  const clang::VarDecl* constant = nullptr;  ///< That all launches name; then there is no `knob`.
  size_t index = 0;                          ///< Of the template's arguments.
};

/// The closure is the kernel's.
std::vector<FoundArgument> find_arguments(const ParsedUnit& unit, const SourceItems& items,
                                          const clang::FunctionDecl* kernel, const Closure& closure,
                                          const std::vector<FoundLaunch>& launches);

/// The instance's argument of that number, from 0; nullopt: it is no positive int.
std::optional<int64_t> argument_value(const clang::FunctionDecl* kernel, size_t index);

}  // namespace kernelift::extractor
