// Launch geometry as an expression a tuner can turn (DESIGN D10). The arguments of a launch are followed through local
// dim3 and integer variables, small helper functions and macros, back to text over constants, parameters and variables:
//     const int nb = CEIL_DIV(n, BLOCK);  dim3 grid(nb);  k<<<grid, BLOCK>>>  ->  grid "(n + BLOCK - 1) / BLOCK", block
//     "BLOCK"
// What cannot be followed honestly (a variable assigned twice, an unknown call) is empty text, never a guess.
#pragma once
#include <map>
#include <set>
#include <string>

#include "extractor/source/parsed_unit.h"

namespace clang {
class Expr;
class FunctionDecl;
class ValueDecl;
class VarDecl;
class Stmt;
}  // namespace clang

namespace kernelift {

struct GeometryUse {
  std::string text[3];                       ///< Empty where it is not an integer expression.
  std::set<const clang::MacroInfo*> macros;  ///< Named in the text or expanded on the way.
  std::set<const clang::VarDecl*> constants;
  std::set<const clang::Decl*> enumerators;
};

/// A class's constant or enumerator: it says what the type is, so it stands in an expression by its value, not its name.
bool is_class_constant(const clang::ValueDecl* constant);

class GeometryReader {
 public:
  /// `function` is the one that launches: its body tells which variables are assigned more than once.
  GeometryReader(const ParsedUnit& unit, const clang::FunctionDecl* function);
  ~GeometryReader();

  GeometryUse dim3(const clang::Expr* expression);
  GeometryUse integer(const clang::Expr* expression);

  /// One field of a `cudaLaunchConfig_t config`: what its initialiser or the one assignment to it says.
  struct Field {
    bool known = false;                       ///< False: assigned more than once, or in a way that is not followed.
    const clang::Expr* value = nullptr;       ///< Null: zero.
  };
  Field field(const clang::VarDecl* record, llvm::StringRef name) const;

 private:
  struct Assignments;
  using Substitution = std::map<const clang::Decl*, std::string>;
  bool read_dim3(const clang::Expr* e, GeometryUse& use, int depth);
  std::string read(const clang::Expr* e, GeometryUse& use, const Substitution& substitution, int depth);
  std::string read_variable(const clang::VarDecl* variable, GeometryUse& use, const Substitution& substitution,
                            int depth);
  std::string read_call(const clang::Expr* call, GeometryUse& use, const Substitution& substitution, int depth);
  std::string literal_name(const clang::Expr* literal, GeometryUse& use) const;

  const ParsedUnit& unit_;
  std::unique_ptr<Assignments> assignments_;
};

}  // namespace kernelift
