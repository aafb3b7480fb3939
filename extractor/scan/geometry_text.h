// Launch geometry as an expression that can be evaluated for other values of its constants. The arguments of a launch
// are followed through local dim3 and integer variables, small helper functions and macros, back to constants,
// parameters and variables:
//     const int nb = CEIL_DIV(n, BLOCK);  dim3 grid(nb);  k<<<grid, BLOCK>>>
//     -> grid (n + BLOCK - 1) / BLOCK, block BLOCK
// An expression that cannot be followed with certainty (a grid that a branch changes, an unknown call) becomes nullopt,
// never a guess.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/launch/expression.h"
#include "extractor/source/parsed_unit.h"

namespace clang {
class CallExpr;
class Expr;
class FunctionDecl;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace kernelift::extractor {

class Assignments;
class Effects;
struct Place;

struct GeometryUse {
  std::optional<Expression> axes[3];         ///< nullopt if it is not an integer expression.
  std::set<const clang::MacroInfo*> macros;  ///< Macros that are named in the expressions or expanded to reach them.
  std::set<const clang::VarDecl*> constants;
  std::set<const clang::Decl*> enumerators;
  /// Conditions under which the expressions are what the host computes: a quotient in single precision is that of
  /// integers up to 2^24.
  std::vector<Expression> where = {};

  void add_names(const GeometryUse& more) {
    where.insert(where.end(), more.where.begin(), more.where.end());
    macros.insert(more.macros.begin(), more.macros.end());
    constants.insert(more.constants.begin(), more.constants.end());
    enumerators.insert(more.enumerators.begin(), more.enumerators.end());
  }
};

/// True for a constant that is part of its type's definition, so that expressions contain its value, not its name: an
/// enumerator of a true enumeration (one with a name, with variables, or with implicit values) rather than of a list of
/// constants; a constant of a class template; and a constant of a class with data that is an enumerator or determines
/// how large the data are. The constants of a class without data, a policy, are none.
bool belongs_to_type(const clang::ValueDecl* constant);
/// Whether a class with data members has it, which only a launch shows to be a size of the work.
bool is_beside_data(const clang::ValueDecl* constant);
/// The name in expressions and knobs: a local's own name; for others the name qualified by the scopes that are spelled
/// in source text, so not by anonymous namespaces.
std::string constant_name(const clang::ValueDecl* constant);

class GeometryReader {
 public:
  /// `function` contains the launch; its body is searched for assignments to the variables.
  GeometryReader(const ParsedUnit& unit, Effects& effects, const clang::FunctionDecl* function);
  ~GeometryReader();

  /// The launch whose geometry is read next, with what it passes to the kernel; an argument that is not known is null.
  /// A variable that it passes is named if it has the same value
  /// where the geometry is computed, and not followed to what it was computed from, if that is neither a constant nor
  /// passed, too.
  void begin(const clang::CallExpr* launch, const std::vector<const clang::Expr*>& passed = {});

  /// Whether evaluating the launch may change what the expression names: an argument beside it does.
  bool changes_within(const clang::Expr* expression) const;

  GeometryUse dim3(const clang::Expr* expression);
  GeometryUse integer(const clang::Expr* expression);

  /// One field of a `cudaLaunchConfig_t config`: the value from its initialiser or from the only assignment to it.
  struct Field {
    bool known = false;                  ///< False if assigned more than once, or in a way that is not followed.
    const clang::Expr* value = nullptr;  ///< Null if the field is zero.
  };
  Field field(const clang::VarDecl* record, llvm::StringRef name) const;

 private:
  using Substitution = std::map<const clang::Decl*, Expression>;
  using Read = std::optional<Expression>;
  bool read_dim3(const clang::Expr* e, GeometryUse& use, int depth);
  Read read(const clang::Expr* e, GeometryUse& use, const Substitution& substitution, int depth);
  /// The name of a variable or member, which stands for its value at the launch; nullopt if it may have another one
  /// there, or if something else has the name there.
  Read named(const Place& place, const std::string& name) const;
  Read read_condition(const clang::Expr* e, GeometryUse& use, const Substitution& substitution, int depth);
  Read read_variable(const clang::VarDecl* variable, GeometryUse& use, const Substitution& substitution, int depth);
  Read read_call(const clang::Expr* call, GeometryUse& use, const Substitution& substitution, int depth);
  /// `a / b` in floating point, of two integers. `single`: the result is rounded to single precision.
  std::optional<Quotient> read_quotient(const clang::Expr* e, bool single, GeometryUse& use,
                                        const Substitution& substitution, int depth);
  Read literal(const clang::Expr* literal, GeometryUse& use) const;

  /// While it exists, variables have the values that they have at another statement.
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
  Effects& effects_;
  const clang::FunctionDecl* function_;
  std::unique_ptr<Assignments> assignments_;  ///< Null before the first launch.
  const clang::CallExpr* launch_ = nullptr;
  std::set<const clang::VarDecl*> passed_;                         ///< By it.
  std::map<std::string, std::set<const clang::Decl*>> mentioned_;  ///< What names mean in the launch.
  const clang::Stmt* place_ = nullptr;  ///< The launch, or the assignment that is being followed.
};

}  // namespace kernelift::extractor
