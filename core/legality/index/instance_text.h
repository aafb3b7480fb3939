// Expressions of a kernel model as constraints in isl's notation, over the instances of one access: which thread of
// which block makes it in which iteration. What is not affine is left open (any value), and exact() is then false.
//
// An instance has a dimension for its thread's number along each axis of the grid, g_x = ntid.x * bid.x + tid.x: most
// kernels use no other position, and sets without quotients are much cheaper. tid and bid become dimensions of their
// own where they stand apart.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/legality/index/polynomial.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"

namespace kernelift::legality {

/// A launch for every size: the block is fixed, the grid follows from the parameters.
struct LaunchShape {
  Dim3 block;
  /// Over the model's parameters ("ceil_div(arg.a2, 256)"); nullopt: not known, and taken as some number that is the
  /// same for both sides of a comparison.
  std::array<std::optional<Expression>, 3> grid;
  /// Where the grid is known to be that; elsewhere nothing is said of the launch. Of the original's alone.
  std::optional<Expression> grid_where = {};
};

/// What isl's parameters stand for: integer parameters of the kernel, products of them, numbers of blocks, and values
/// in memory that are the same for a whole launch.
using Parameters = std::map<std::string, Expression>;

class InstanceText {
 public:
  /// Grid: instances of all threads of a launch. Block: those of one block, whose position is a parameter.
  enum class Scope { Grid, Block };

  /// EXPECTS: `parameters` outlives this.
  InstanceText(const LaunchShape& launch, Parameters& parameters, Scope scope);

  void constrain(const Expression& domain);
  /// The polynomial as an affine expression of the instance; nullopt: it is none.
  std::optional<std::string> affine(const Polynomial& polynomial);
  std::optional<std::string> affine(const Expression& expression);
  /// Adds a dimension with any value, and returns its name.
  std::string fresh();
  void add(std::string constraint) { constraints_.push_back(std::move(constraint)); }
  /// The term has one value for all instances.
  void fix_term(const std::string& variable, const Expression& stands_for);
  /// The counter of a loop in a component of KernelModel::Time; nullopt: instances give it in two ways.
  std::optional<std::string> counter(const std::string& variable);

  bool exact() const { return exact_ && clashes().empty(); }
  /// What was left open, for a person; empty if exact.
  std::string reason() const;
  // To be read when all constraints were added.
  std::string dimensions() const;  ///< "g_x, g_y, …"
  std::string parameter_list() const;
  std::string constraints() const;
  std::string threads() const;  ///< "g_x, …", or within a block "tid_x, …": tells threads apart.
  std::optional<std::array<std::string, 3>> block() const;  ///< The block's position; nullopt: not known.
  /// Whether a dimension stands for the thread and the iteration of a grid-stride loop together.
  bool strides() const { return !strided_.empty(); }
  bool uses_terms() const { return uses_terms_; }

 private:
  std::optional<std::string> value(const std::string& factor);
  std::string condition(const Expression& expression, bool wanted);
  std::string open_condition(const std::string& what);
  std::string compare(const Expression& left, const Expression& right, const char* op);
  std::string name(const std::string& variable);
  std::string parameter(const Polynomial::Factors& factors);
  std::string position(const char* kind, int axis);
  std::string number(int axis);
  std::string strided_along(int axis) const;
  std::string dimension(std::string name);
  bool is_position(const std::string& factor) const;
  bool join_positions(std::map<Polynomial::Factors, int64_t>& products, std::string& text);
  std::set<std::string> clashes() const;

  LaunchShape launch_;
  Parameters& parameters_;
  Scope scope_;
  std::array<std::string, 3> blocks_;                              ///< Numbers of blocks along the axes, or a number.
  std::array<bool, 3> thread_apart_{}, block_apart_{}, joined_{};  ///< tid, bid and g are used, by axis.
  std::vector<std::string> dimensions_, constraints_;
  std::map<std::string, std::string> known_;    ///< Text of a factor to what it is in isl's notation.
  std::map<std::string, std::string> strided_;  ///< "loop.k1" to the dimension that holds it and the block.
  std::set<std::string> plain_;                 ///< Counters that occur on their own.
  std::map<std::string, std::string> fixed_terms_;
  std::string open_;
  bool exact_ = true, uses_terms_ = false;
};

/// isl's spelling of a model's variable: "arg.a2" is "arg_a2".
std::string isl_name(const std::string& variable);
/// The parameter for a number of blocks: for equal expressions the same.
std::string blocks_name(const LaunchShape& launch, int axis, Parameters& parameters);

}  // namespace kernelift::legality
