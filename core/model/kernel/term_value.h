// What a value is made of that is no Expression: an element of an array of indices, a comparison of floats, the result
// of a function. Two values of one kernel's text are the same if their TermValues are, and their arguments
// (KernelModel::Term). This file is the only place that puts them into words.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/launch/expression.h"

namespace kernelift {

/// How people spell a model's variables: "arg.a2" to "n". Others are shown as they are.
using VariableNames = std::map<std::string, std::string>;

/// Memory that does not overlap with that of other objects. For arguments that is an assumption: pointers may be equal.
struct MemoryObject {
  enum class Kind { Argument, Variable, Shared, Local, Unknown };
  Kind kind = Kind::Unknown;
  std::string name;               ///< "arg.a0", "arg.a2.o8"; a variable's mangled name; "" for unknown memory.
  std::optional<uint64_t> bytes;  ///< Extent, where the source fixes it.
  std::string shown = {};         ///< A variable's name as the source spells it: "tile"; empty: `name`.
  bool own = false;               ///< A variable that nothing but the kernel can name: `static` in its text.
  uint64_t alignment = 0;         ///< Bytes that divide its address, as declared; 0: not known.
  bool operator==(const MemoryObject&) const = default;
};
/// "x"; "unknown memory"; "a variable that each thread keeps in memory" for a local one.
std::string to_text(const MemoryObject& object, const VariableNames& names);

struct TermValue {
  enum class Kind {
    Opaque,     ///< `what` says why nothing is known of it: "how often a loop runs".
    Constant,   ///< `what` as LLVM prints it: "float 0.000000e+00".
    Parameter,  ///< A parameter, or a member of one: `what` is its variable, "arg.a1.o8".
    Argument,   ///< The argument with the number `argument`.
    Element,  ///< Of `object`; the argument `argument` is its offset in bytes, and `what` the type that is read: "i32".
    Operation,  ///< `what` is LLVM's name, "fcmp ogt", or a function's, "__nv_sqrtf"; of `operands`.
  };
  Kind kind = Kind::Opaque;
  std::string what = {};
  std::string detail = {};  ///< Of an operation, what its name does not say: types, lanes. For comparing only.
  size_t argument = 0;
  MemoryObject object = {};
  std::vector<TermValue> operands = {};

  static TermValue opaque(std::string why) { return {.kind = Kind::Opaque, .what = std::move(why)}; }
  /// Any value may be in memory for it: it is one element of an argument, or that compared with a constant.
  bool is_input() const;
  bool operator==(const TermValue&) const = default;
};

/// "an element of index", "an element of x > 0.5", "sqrtf(params.scale)".
std::string to_text(const TermValue& value, const std::vector<Expression>& arguments, const VariableNames& names);

/// The expression with the variables under their names, where these can be read back: "v.pitch[1]" is no variable's
/// name.
Expression spelled(const Expression& expression, const VariableNames& names);

Json to_json(const TermValue& value);
Json to_json(const MemoryObject& object);
/// Both throw as nlohmann's functions do, for reading().
TermValue term_value_from_json(const Json& json);
MemoryObject memory_object_from_json(const Json& json);

}  // namespace kernelift
