// Inline PTX as text: statements, their opcodes split at dots, their operands split at commas. No meaning yet.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift::cpu {

struct PtxStatement {
  std::string text;                   ///< As written, for messages.
  std::string guard;                  ///< Predicate register of `@p`, "" if unguarded.
  bool negated = false;               ///< `@!p`
  std::vector<std::string> opcode;    ///< "ld", "global", "cg", "f32"
  std::vector<std::string> operands;  ///< "$0", "[$1+4]", "{a,b}", "0x1f"

  bool has(std::string_view part) const;
  /// The opcode says nothing but types and what arithmetic usually says. Anything else changes what is computed.
  bool plain() const;
  /// The last opcode part, where PTX puts the type.
  const std::string& type() const { return opcode.back(); }
};

struct PtxText {
  std::map<std::string, std::string> registers;  ///< Declared by .reg: name to type ("pred", "b32").
  std::vector<PtxStatement> statements;
};

/// An Error names what is not a plain sequence of instructions (labels, branches, calls, directives).
Result<PtxText> parse_ptx(std::string_view assembly);

}  // namespace kernelift::cpu
