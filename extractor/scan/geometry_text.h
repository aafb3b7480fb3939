// Launch geometry as an expression a tuner can turn. The arguments of a launch are followed through local
// dim3 and integer variables, small helper functions and macros, back to constants, parameters and variables:
//     const int nb = CEIL_DIV(n, BLOCK);  dim3 grid(nb);  k<<<grid, BLOCK>>>  ->  grid "(n + BLOCK - 1) / BLOCK", block
//     "BLOCK"
// What cannot be followed honestly (a grid that a branch changes, an unknown call) is nullopt, never a guess.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/model/launch/expression.h"
#include "extractor/source/parsed_unit.h"

namespace clang {
class Expr;
class FunctionDecl;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace kernelift {

class Assignments;

struct GeometryUse {
  std::optional<Expression> axes[3];         ///< nullopt where it is not an integer expression.
  std::set<const clang::MacroInfo*> macros;  ///< Named in the expressions or expanded on the way.
  std::set<const clang::VarDecl*> constants;
  std::set<const clang::Decl*> enumerators;

  void add_names(const GeometryUse& more) {
    macros.insert(more.macros.begin(), more.macros.end());
    constants.insert(more.constants.begin(), more.constants.end());
    enumerators.insert(more.enumerators.begin(), more.enumerators.end());
  }
};

/// A class's constant, or an enumerator of what is a type rather than a list of constants (a name of its own,
/// variables, values that follow from each other): it says what the type is, so it stands in an expression by its
/// value, not its name.
bool belongs_to_type(const clang::ValueDecl* constant);
/// As expressions and knobs name it: a local by its own name, others qualified by the scopes that people write, so not
/// by anonymous namespaces.
std::string constant_name(const clang::ValueDecl* constant);

class GeometryReader {
 public:
  /// `function` is the one that launches: its body tells what the variables were last given.
  GeometryReader(const ParsedUnit& unit, const clang::FunctionDecl* function);
  ~GeometryReader();

  GeometryUse dim3(const clang::Expr* expression);
  GeometryUse integer(const clang::Expr* expression);

  /// One field of a `cudaLaunchConfig_t config`: what its initialiser or the one assignment to it says.
  struct Field {
    bool known = false;                  ///< False: assigned more than once, or in a way that is not followed.
    const clang::Expr* value = nullptr;  ///< Null: zero.
  };
  Field field(const clang::VarDecl* record, llvm::StringRef name) const;

 private:
  using Substitution = std::map<const clang::Decl*, Expression>;
  using Read = std::optional<Expression>;
  bool read_dim3(const clang::Expr* e, GeometryUse& use, int depth);
  Read read(const clang::Expr* e, GeometryUse& use, const Substitution& substitution, int depth);
  Read read_variable(const clang::VarDecl* variable, GeometryUse& use, const Substitution& substitution, int depth);
  Read read_call(const clang::Expr* call, GeometryUse& use, const Substitution& substitution, int depth);
  /// `a / b` in floating point, of two integers.
  std::optional<Quotient> read_quotient(const clang::Expr* e, GeometryUse& use, const Substitution& substitution,
                                        int depth);
  Read literal(const clang::Expr* literal, GeometryUse& use) const;

  /// For its life, variables are read as they are at another place.
  class At {
   public:
    At(GeometryReader& reader, const clang::Stmt* place) : reader_(reader), before_(reader.place_) {
      reader.place_ = place;
    }
    ~At() { reader_.place_ = before_; }

   private:
    GeometryReader& reader_;
    const clang::Stmt* before_;
  };

  const ParsedUnit& unit_;
  std::unique_ptr<Assignments> assignments_;
  const clang::Stmt* place_ = nullptr;  ///< Where the launch is, or the assignment that is being followed.
};

}  // namespace kernelift
