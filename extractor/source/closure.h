// Everything that a kernel needs to compile with the same meaning: the items (source_items.h), macros, system headers
// and module variables that it reaches, transitively. The walk follows names as clang resolved them: for a template
// both
// the pattern as spelled and the instance as compiled, because only the instance knows which overload a dependent call
// chose. Host functions that device text only mentions keep their declaration; their bodies are cut.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "extractor/source/source_items.h"

namespace clang {
class EnumConstantDecl;
class FunctionDecl;
class NamedDecl;
class NamespaceDecl;
class VarDecl;
}  // namespace clang

namespace kernelift::extractor {

/// A host function's body, left out of a slice: `[begin, end)` becomes ';'.
struct BodyCut {
  clang::FileID file;
  unsigned begin = 0, end = 0;
};

struct Closure {
  std::set<int> items;
  std::set<const clang::MacroInfo*> macros;
  std::set<std::string> macro_names;                     ///< Names of `macros`, to find the matching #undefs.
  std::set<clang::FileID> system_files;                  ///< System headers whose declarations or macros are used.
  std::set<std::string> standard_types;                  ///< Used types that <stddef.h> or <stdint.h> declares too.
  std::set<const clang::NamespaceDecl*> namespaces;      ///< Namespaces of everything used.
  std::set<const clang::FunctionDecl*> functions;        ///< Functions reached, as compiled (instances of templates).
  std::set<const clang::VarDecl*> variables;             ///< Module variables and constants reached.
  std::set<const clang::EnumConstantDecl*> enumerators;  ///< Enumeration constants named.
  std::set<const clang::NamedDecl*> undefined;  ///< Device functions and variables used but only declared in the unit.
  std::vector<BodyCut> cuts;
  std::set<int> line_sensitive;       ///< Items that use __LINE__, __FILE__ or assert().
  std::vector<std::string> refusals;  ///< Reasons why no slice can be cut, naming the construct; empty if one can.
};

struct ClosureOptions {
  bool every_specialisation = false;  ///< Take all specialisations of a template, not only those seen chosen.
  std::set<const clang::VarDecl*> constants = {};  ///< That are needed besides what the kernel's text names.
};

Closure close_over(const ParsedUnit& unit, const SourceItems& items, const clang::FunctionDecl* kernel,
                   const ClosureOptions& options = {});

/// Every host function's body in the application's files: the unit without them is its device code.
std::vector<BodyCut> host_bodies(const ParsedUnit& unit, const SourceItems& items);

/// True for a function that the device never runs: neither __device__ nor __global__, given or implied.
bool is_host_only(const clang::FunctionDecl* function);

}  // namespace kernelift::extractor
