// multiple_accumulators: each addition to a sum waits for the one before. With K sums, K additions are under way:
//   for (int j = 0; j < n; ++j) s += a[j] * x[j];
// becomes
//   float s_parts[K] = {};  int j = 0;
//   for (; j + K - 1 < n; j += K) {
//   #pragma unroll
//     for (int part = 0; part < K; ++part) s_parts[part] += a[j + part] * x[j + part];
//   }
//   for (; j < n; ++j) s += a[j] * x[j];
//   s += s_parts[0] + … + s_parts[K - 1];
// or, where sizes are multiplied by the counter, one loop whose parts each ask `if (j + part < n)`.
// The array is registers, since the loop over its elements is unrolled. This helps where there are few threads, which
// do not hide each other's latency. Sums are rounded in another order; verification decides whether that matters.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/sums/linear_flow.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestRepeated = 1000;  ///< Characters: it is repeated.

struct Accumulated {
  std::string name, type, parts;
  Reduced reduced;
};

class Accumulators {
 public:
  Accumulators(const KernelSource& source, const RuleContext& facts, int64_t count)
      : source_(source),
        loops_(source, facts),
        count_(count),
        part_(source.fresh_name("part")),
        number_(std::to_string(count)) {}

  /// In place of the loop; nullopt if it is no loop of sums.
  std::optional<TextEdit> edit(const clang::ForStmt* loop) const;

 private:
  std::optional<std::vector<Accumulated>> sums_of(const clang::ForStmt* loop, const CountedLoop& counted) const;
  bool stands_alone(const clang::Stmt* expression) const;
  std::optional<std::string> part_of_body(const clang::ForStmt* loop, const CountedLoop& counted, Span body,
                                          const std::string& step, const std::vector<Accumulated>& sums) const;

  const KernelSource& source_;
  LaneLoops loops_;
  const int64_t count_;
  const std::string part_, number_;
};

std::optional<std::vector<Accumulated>> Accumulators::sums_of(const clang::ForStmt* loop,
                                                              const CountedLoop& counted) const {
  auto reduced = loops_.reduced_variables(loop, counted.counter);
  if (!reduced || reduced->empty()) return std::nullopt;
  std::vector<Accumulated> sums;
  for (auto& [target, one] : *reduced) {
    Accumulated sum{one.root->getNameAsString(), spelled_type(source_, one.root), {}, one};
    if (target != sum.name || sum.type.empty() || one.root->getType().isVolatileQualified()) return std::nullopt;
    sum.parts = source_.fresh_name(sum.name + "_parts");
    sums.push_back(std::move(sum));
  }
  return sums;
}

/// It is all that a subscript, or an argument of a call, consists of.
bool Accumulators::stands_alone(const clang::Stmt* expression) const {
  const clang::Stmt* around = source_.parent(expression);
  while (llvm::isa_and_nonnull<clang::ImplicitCastExpr>(around)) expression = around, around = source_.parent(around);
  if (auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(around)) return element->getIdx() == expression;
  auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(around);
  auto* of_operator = llvm::dyn_cast_or_null<clang::CXXOperatorCallExpr>(around);
  if (of_operator && of_operator->getOperator() != clang::OO_Subscript && of_operator->getOperator() != clang::OO_Call)
    return false;
  if (!call) return false;
  const auto arguments = call->arguments();
  return std::any_of(arguments.begin(), arguments.end(), [&](auto* one) { return one == expression; });
}

/// The body for the iteration `part_` of those that are done together.
std::optional<std::string> Accumulators::part_of_body(const clang::ForStmt* loop, const CountedLoop& counted, Span body,
                                                      const std::string& step,
                                                      const std::vector<Accumulated>& sums) const {
  std::vector<TextEdit> edits;
  bool spelled = true;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    if (!reference) return spelled;
    auto place = source_.span(reference);
    std::string text;
    if (reference->getDecl() == counted.counter) {
      text = counted.counter->getNameAsString() + " + " + (step.empty() ? "" : step + " * ") + part_;
      if (!stands_alone(reference)) text = "(" + text + ")";
    }
    for (auto& sum : sums)
      if (reference->getDecl() == sum.reduced.root) text = sum.parts + "[" + part_ + "]";
    if (text.empty()) return spelled;
    if (!place) return spelled = false;
    edits.push_back({place->begin - body.begin, place->end - body.begin, text});
    return spelled;
  });
  if (!spelled) return std::nullopt;
  return apply_edits(source_.text().substr(body.begin, body.end - body.begin), std::move(edits));
}

/// The text with its further lines as many blanks deeper.
std::string indented(std::string text, const std::string& by) {
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    if (at + 1 < text.size() && text[at + 1] != '\n') text.insert(at + 1, by);
  return text;
}

/// Sizes are multiplied by the counter, or are its step. Where a second loop begins then is no linear expression, and
/// the comparison for all sizes would not know what it reads.
bool is_scaled(const clang::ForStmt* loop, const CountedLoop& counted) {
  auto is_number = [&](const clang::Expr* value) {
    return !value->isValueDependent() && value->isEvaluatable(counted.counter->getASTContext());
  };
  bool scaled = counted.step && !is_number(counted.step);
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    auto* product = llvm::dyn_cast<clang::BinaryOperator>(inner);
    if (!product || product->getOpcode() != clang::BO_Mul || !product->getType()->isIntegerType()) return !scaled;
    for (auto* side : {product->getLHS(), product->getRHS()}) {
      auto* other = side == product->getLHS() ? product->getRHS() : product->getLHS();
      scaled |= variables_in(side).contains(counted.counter) && !is_number(other);
    }
    return !scaled;
  });
  return scaled;
}

std::optional<TextEdit> Accumulators::edit(const clang::ForStmt* loop) const {
  auto counted = CountedLoop::of(loop, true);
  auto* outer = source_.parent(loop);
  auto whole = source_.span(loop), inside = source_.span(loop->getBody());
  auto end = source_.statement_end(loop);
  if (!counted || !whole || !inside || !end || !llvm::isa_and_nonnull<clang::CompoundStmt>(outer) ||
      !source_.first_on_line(whole->begin) || *end - inside->begin > kLongestRepeated ||
      counted->counter->getType()->isDependentType())
    return std::nullopt;
  // Several iterations of an outer loop are not done together.
  bool inner_loops = false;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    return !(inner_loops |= llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::LambdaExpr>(inner));
  });
  auto sums = sums_of(loop, *counted);
  auto* condition = llvm::cast<clang::BinaryOperator>(loop->getCond());
  const std::string counter = counted->counter->getNameAsString(), type = spelled_type(source_, counted->counter),
                    first = source_.spelled(counted->first), bound = source_.spelled(condition->getRHS()),
                    test = source_.spelled(condition), increment = source_.spelled(loop->getInc());
  if (inner_loops || !sums || has_few_iterations(source_, loop, 4 * count_) || type.empty() || first.empty() ||
      bound.empty() || test.empty() || increment.empty())
    return std::nullopt;
  std::string step = counted->step ? source_.spelled(counted->step) : "";
  if (counted->step && step.empty()) return std::nullopt;
  // A counter that is signed must stay so where it is compared.
  if (counted->step && !llvm::isa<clang::IntegerLiteral>(counted->step->IgnoreImpCasts()))
    step = "(" + type + ")(" + step + ")";
  const Span body{inside->begin, *end};
  auto part = part_of_body(loop, *counted, body, step, *sums);
  if (!part) return std::nullopt;
  const std::string rest = indented(source_.text().substr(body.begin, body.end - body.begin), source_.step());
  *part = indented(*part, source_.step() + source_.step());
  const std::string outside = source_.indentation(whole->begin), indent = outside + source_.step(),
                    deeper = indent + source_.step(), stride = step.empty() ? "" : " * " + step;
  std::string text = "{\n", after;
  for (auto& sum : *sums) {
    std::string all;
    for (int64_t i = 0; i < count_; ++i) {
      const std::string one = sum.parts + "[" + std::to_string(i) + "]";
      if (sum.reduced.how == Reduced::How::Sum) all += (all.empty() ? "" : " + ") + one;
      else after += indent + sum.name + " = " + sum.reduced.function + "(" + sum.name + ", " + one + ");\n";
    }
    std::string begin;
    if (sum.reduced.how == Reduced::How::Sum) after += indent + sum.name + " += " + all + ";\n";
    else
      for (int64_t i = 0; i < count_; ++i) begin += (i > 0 ? ", " : "") + sum.name;
    text += indent + sum.type + " " + sum.parts + "[" + number_ + "] = {" + begin + "};\n";
  }
  const bool declares = llvm::isa<clang::DeclStmt>(loop->getInit()), guarded = is_scaled(loop, *counted);
  const std::string below = clang::BinaryOperator::getOpcodeStr(condition->getOpcode()).str() + " " + bound,
                    begin = (declares ? type + " " : "") + counter + " = " + first,
                    together = counter + " += " + number_ + stride + ") {\n" + deeper + "#pragma unroll\n" + deeper +
                               "for (int " + part_ + " = 0; " + part_ + " < " + number_ + "; ++" + part_ + ")";
  if (guarded) {
    text += indent + "for (" + begin + "; " + test + "; " + together + "\n" + deeper + source_.step() + "if (" +
            counter + " + " + (step.empty() ? "" : step + " * ") + part_ + " " + below + ") " + *part + "\n" + indent +
            "}\n";
  } else {
    text += indent + begin + ";\n" + indent + "for (; " + counter + " + " + std::to_string(count_ - 1) + stride + " " +
            below + "; " + together + " " + *part + "\n" + indent + "}\n" + indent + "for (; " + test + "; " +
            increment + ") " + rest + "\n";
  }
  text += after + outside + "}";
  return TextEdit{whole->begin, *end, text};
}

std::vector<Opportunity> find_multiple_accumulators(const KernelSource& source, const RuleContext& facts,
                                                    const Bindings& values) {
  if (facts.geometries.empty() || (!facts.on_cpu && std::ranges::all_of(facts.geometries, fills_device))) return {};
  const Accumulators accumulators(source, facts, values.at("sums"));
  std::vector<Opportunity> found;
  for (auto* function : source.functions())
    for (auto* loop : loops_in(function)) {
      auto edit = accumulators.edit(loop);
      if (!edit) continue;
      Opportunity opportunity;
      opportunity.place = source.name(loop);
      opportunity.edits.push_back(std::move(*edit));
      found.push_back(std::move(opportunity));
    }
  return found;
}

}  // namespace

const Rule kMultipleAccumulators = {
    "multiple_accumulators",
    "keep a sum in several registers, so that additions do not wait for each other",
    "a loop without others in it that computes sums or extrema in variables and has no pragma; on a GPU, fewer threads "
    "than it holds",
    {{"sums", {4, 8, 2}}},
    find_multiple_accumulators,
    {Bound::Latency, Bound::Compute},
    0.03,
    true};

}  // namespace kernelift::tuner
