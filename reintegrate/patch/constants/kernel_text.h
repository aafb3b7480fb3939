// Where a kernel's definition is in a text, found by tokens: candidates' texts were rewritten after the scan.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kernelift::reintegrate {

/// Bytes of the text.
struct KernelText {
  size_t begin = 0;  ///< The first of its definition's tokens, `template <…>` included.
  size_t body = 0;   ///< Behind the brace that opens its body.
  size_t end = 0;    ///< Behind the brace that closes it.
};

/// nullopt: the text does not define a kernel of this name, without scopes and template arguments.
std::optional<KernelText> kernel_text(const std::string& text, const std::string& name);

/// All definitions of functions of this name, in code that a build leaves out, too: the bytes of their names.
std::vector<size_t> definitions_of(const std::string& text, const std::string& name);

/// The stem, or the stem with the first number from 2 on, that the text does not use as a word.
std::string unused_name(const std::string& text, const std::string& stem);

/// True if the byte is in no brackets and in no braces but those of namespaces: what is inserted there changes no
/// declaration.
bool is_at_namespace_scope(const std::string& text, size_t at);

}  // namespace kernelift::reintegrate
