// Expressions of a kernel model as constraints in isl's notation, over the instances of one access: which thread of
// which block makes it in which iteration. What is not affine is left open (any value), and exact() is then false.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/legality/polynomial.h"
#include "core/model/kernel_model.h"
#include "core/model/launch/geometry.h"

namespace kernelift::legality {

/// A launch for every size: the block is fixed, the grid follows from the parameters.
struct LaunchShape {
  Dim3 block;
  /// Over the model's parameters ("ceil_div(arg.a2, 256)"); nullopt: not known, and taken as some number that is the
  /// same for both sides of a comparison.
  std::array<std::optional<Expression>, 3> grid;
};

/// What isl's parameters stand for: integer parameters of the kernel, and products of them.
using Parameters = std::map<std::string, Expression>;

class InstanceText {
 public:
  /// EXPECTS: `parameters` outlives this.
  InstanceText(const LaunchShape& launch, Parameters& parameters);

  void constrain(const Expression& domain);
  /// The polynomial as an affine expression of the instance; nullopt: it is none.
  std::optional<std::string> affine(const Polynomial& polynomial);
  std::optional<std::string> affine(const Expression& expression);
  /// Adds a dimension with any value, and returns its name.
  std::string fresh();
  void add(std::string constraint) { constraints_.push_back(std::move(constraint)); }

  bool exact() const { return exact_ && clashes().empty(); }
  /// What was left open, for a person; empty if exact.
  std::string reason() const;
  std::string dimensions() const;    ///< "tid_x, tid_y, …"
  std::string parameter_list() const;
  std::string constraints() const;
  /// Two instances of different threads: a condition over these dimensions and the same ones with a prime.
  std::vector<std::string> thread_dimensions() const;
  /// Whether a dimension stands for the block and the iteration of a grid-stride loop together.
  bool strides() const { return !strided_.empty(); }

 private:
  std::optional<std::string> value(const std::string& factor);
  std::string condition(const Expression& expression, bool wanted);
  std::string open_condition(const std::string& what);
  std::string compare(const Expression& left, const Expression& right, const char* op);
  std::string name(const std::string& variable);
  std::string parameter(const Polynomial::Factors& factors);
  static bool is_position(const Expression& expression);
  std::set<std::string> clashes() const;

  LaunchShape launch_;
  Parameters& parameters_;
  std::vector<std::string> dimensions_, constraints_;
  std::map<std::string, std::string> known_;            ///< Text of a factor to what it is in isl's notation.
  std::set<std::pair<std::string, std::string>> strided_;  ///< bid.x and loop.k1, joined in one dimension.
  std::set<std::string> plain_;                         ///< Positions that occur on their own.
  std::string open_;
  bool exact_ = true;
};

/// isl's spelling of a model's variable: "arg.a2" is "arg_a2".
std::string isl_name(const std::string& variable);

}  // namespace kernelift::legality
