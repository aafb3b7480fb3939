// Canonical keys: one name for a kernel or variable that nvcc, clang and the recorder spell differently. A mangled name
// is demangled; internal-linkage marks, anonymous-namespace hashes and clang's __static__/__intern__ suffixes are
// reduced to one token, so that all spellings of one entity compare equal.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

/// "_ZL2skPi__intern__1a2b" -> "sk(int*)"; "_ZN12_GLOBAL__N_11kEv" -> "(anonymous)::k()". A name that does not
/// demangle (extern "C") is returned as it is, without any suffix.
std::string canonical_key(std::string_view mangled);

/// The key without return type and parameters, for messages: "ns::k<int>" from "void ns::k<int>(int*)".
std::string qualified_name(std::string_view key);

/// The qualified name without the parameters of functions in which local types and lambdas are:
/// "each<run::{lambda#2}>" from "each<run(float*, int)::{lambda(int)#2}>(int)".
std::string shown_name(std::string_view key);

/// The key without return type, template arguments and parameters: "ns::k" from "void ns::k<int>(int*)".
std::string base_name(std::string_view key);

/// The name without the scopes around it: "k" from "ns::k". EXPECTS: no template arguments.
std::string unqualified_name(std::string_view name);

/// True when `pattern` (a partial qualified name as a user types it) names `key`: equal, or a suffix at a `::`
/// boundary of its base name, or a prefix up to template arguments, or its shown name. Whitespace is ignored, and
/// "(anonymous)::" may be left out, as it is in source text.
bool key_matches(std::string_view key, std::string_view pattern);

}  // namespace kernelift
