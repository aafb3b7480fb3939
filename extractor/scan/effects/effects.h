// What host code may write besides its own variables: globals, members of objects, and memory behind pointers and
// references, with all that it calls. A size that is read at one statement is the same at another if nothing between
// them may write it. A function whose text is not in the unit may write whatever it can reach; one of the system's or a
// toolkit's headers writes what it is given the address of, and calls what it is given.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "clang/AST/Expr.h"
#include "extractor/source/parsed_unit.h"

namespace clang {
class CXXMethodDecl;
class FieldDecl;
class FunctionDecl;
class VarDecl;
}  // namespace clang

namespace kernelift::extractor {

/// A variable, a member of one (through a pointer or reference, too), or a member of *this.
struct Place {
  const clang::VarDecl* variable = nullptr;  ///< Canonical; null for *this.
  const clang::FieldDecl* field = nullptr;   ///< Null for the whole variable.
  clang::QualType type;

  auto operator<=>(const Place& other) const {
    return std::pair(variable, field) <=> std::pair(other.variable, other.field);
  }
  /// The variable, or the object that it refers or points to; nullopt for anything else.
  static std::optional<Place> of(const clang::Expr* e);
};

struct Writes {
  std::set<Place> places;                          ///< Written themselves, or part of them.
  std::set<const clang::FieldDecl*> fields;        ///< Members of some object.
  std::set<const clang::Type*> objects, elements;  ///< Behind pointers and references; elements of arrays.
  std::set<const clang::FunctionDecl*> callees;    ///< Definitions.
  std::set<const clang::ValueDecl*> lent;          ///< What the callees are given the address of.
  bool anything = false;                           ///< It calls what is not seen.
  bool is_call = false;

  void add(const Writes& more);
};

/// What one statement may write, and that statement.
struct Event {
  const clang::Stmt* place = nullptr;
  Writes writes;
  bool at_end = false;  ///< It happens where that block is left: destructors of its variables run.
};

struct Events {
  std::vector<Event> all;
  /// Variables and members whose address outlives the expressions in which it is taken, and these.
  std::map<const clang::ValueDecl*, std::vector<const clang::Expr*>> kept;
  std::set<const clang::ValueDecl*> awaited;  ///< Those that an asynchronous call writes at any time after it.
};

class Effects {
 public:
  explicit Effects(const ParsedUnit& unit) : unit_(unit) {}

  /// The function's own, in the order of the text, without assignments to its variables.
  Events events(const clang::FunctionDecl* function);
  /// Whether the event may write the place, in a function with these events. `is_kept`: of the place's variable or
  /// member, whether its address was kept before the event.
  bool may_write(const Event& event, const Place& place, const Events& events,
                 const std::function<bool(const clang::ValueDecl*)>& is_kept);

 private:
  friend class EventVisitor;
  const Events& own(const clang::FunctionDecl* definition);
  /// With all that it calls.
  const Writes& of(const clang::FunctionDecl* definition);
  /// Whether the function may leave the address that it is given in a place that outlives the call.
  bool keeps(const clang::FunctionDecl* definition, unsigned parameter);
  /// Whether a pointer to the variable or member exists anywhere in the unit.
  bool is_addressed(const clang::ValueDecl* declaration);

  const ParsedUnit& unit_;
  std::map<const clang::FunctionDecl*, Events> own_;
  std::map<const clang::FunctionDecl*, Writes> all_;
  std::map<std::pair<const clang::FunctionDecl*, unsigned>, bool> keeps_;
  std::optional<std::set<const clang::ValueDecl*>> addressed_;
};

}  // namespace kernelift::extractor
