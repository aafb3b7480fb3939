// What only the compiled slice can tell: which module variables the kernel's text really has (a capture lists those of
// the whole module), and what their elements are. Unoptimised IR of the slice answers both exactly, where matching
// words in the text would guess. What parameters and structures are, the scan has told (region_types.h).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/frontend.h"
#include "core/compiler/model/waiting_loop.h"

namespace kernelift::extractor {

/// Where addresses lie in a type, by what the compiler makes of it.
struct PointerLayout {
  uint64_t size = 0;              ///< Of one element.
  std::vector<uint32_t> offsets;  ///< Of addresses in it; empty: it holds none.
};

struct ModuleFacts {
  struct Variable {
    std::string mangled;           ///< As clang spells it in the slice.
    std::string element = "byte";  ///< Scalar type if all of the variable is made of one, or its layout.
    PointerLayout pointers = {};
    bool code = false;   ///< Its initial value holds addresses of functions.
    bool fixed = false;  ///< It is const: whatever image it is in, that initialises it.
  };
  std::map<std::string, Variable> variables;  ///< By canonical key.
  std::vector<Wait> waits;                    ///< Of the kernel, for what other threads write.
  std::vector<std::string> undefined;         ///< Functions and variables that the text uses and another file defines.
};

/// `kernel` is its mangled name.
Result<ModuleFacts> module_facts(const std::string& slice, const std::string& kernel, const FrontendOptions& options);

}  // namespace kernelift::extractor
