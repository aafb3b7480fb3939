// Integers that a launch gives to a kernel's template, `scale<float, 128><<<…>>>`. The extracted text spells each as a
// constant of its own, with which its last line instantiates the template, so that a candidate can have another one:
//     constexpr int scale_B = 128;
//     template __global__ void ::scale<float, scale_B>(float *, int);
// The name of the constant is the knob's. Where the launch names a constant of the application, `scale<float, BLOCK>`,
// the text has that one, and instantiates by its name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/mep.h"

namespace kernelift {

/// Bytes [begin, end) of a text.
struct TextPart {
  size_t begin = 0, end = 0;
};
/// The template's arguments at the end of a name, without blanks around them: "float" and "128" of
/// "ns::scale<float, 128>"; none of a name that does not end so.
std::vector<TextPart> template_arguments(std::string_view name);

/// The template's arguments as the text's last line instantiates it: "float" and "BLOCK"; empty: it instantiates none.
std::vector<std::string> instantiated_arguments(std::string_view source);

/// "scale_B" for the parameter B of ns::scale.
std::string argument_constant(std::string_view kernel, std::string_view parameter);
/// "constexpr int scale_B = 128;", the line of the extracted text.
std::string argument_definition(std::string_view constant, int64_t value);

/// True if the knob's value is a template's argument of a launch: its text is that of the kernel as spelled.
bool is_template_argument(const Mep& mep, const Knob& knob);
/// The kernel's name with the arguments that the text's instantiation has for `values`, by the names of constants;
/// "ns::scale<float, 64>". The same name where it instantiates by no such constant.
std::string instance_name(std::string_view source, std::string name, const Bindings& values);

}  // namespace kernelift
