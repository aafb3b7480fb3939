// block_reduction: a thread that sums up a column, or anything else of many terms, takes long, and few columns are few
// threads,
//   int j = blockIdx.x * blockDim.x + threadIdx.x;
//   if (j < m) { s[j] = 0;  for (int i = 0; i < n; ++i) s[j] += r[i] * a[i * m + j]; }
// Here P threads of a block along y, which the kernel does not use, share the terms of each sum, and the first of them
// adds up what they found and does the rest:
//   __shared__ float s_parts[P][32];  float s_part = 0;
//   if (j < m) { for (int i = threadIdx.y; i < n; i += P) s_part += r[i] * a[i * m + j]; }
//   s_parts[threadIdx.y][threadIdx.x] = s_part;  __syncthreads();
//   if (j < m && threadIdx.y == 0) {
//     s[j] = 0;  for (int thread = 1; thread < P; ++thread) s_part += s_parts[thread][threadIdx.x];  s[j] += s_part;
//   }
// A last loop that stores an element in every iteration is shared in the same way, behind another barrier.
// Blocks have 32 threads along x, a warp that loads neighbouring elements, so that there are more of them, too. The
// barrier is outside of the guard. Sums are rounded in another order; verification decides whether that matters.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/threads/jammed_copies.h"
#include "tuner/source/rules/threads/split_sum.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kColumns = kWarpSize;  ///< Of a block.

std::string number(int64_t value) { return std::to_string(value); }

class SplitText {
 public:
  SplitText(const KernelSource& source, const SplitKernel& kernel, int64_t threads)
      : source_(source),
        kernel_(kernel),
        threads_(number(threads)),
        thread_(source.fresh_name("thread")),
        inside_(source.fresh_name("inside")),
        indent_(source.indentation(kernel.branch ? source.span(kernel.branch)->begin : kernel.items[0].place)) {}
  /// In place of the kernel's lines; nullopt if they cannot be edited.
  std::optional<std::string> text();

 private:
  void add(std::string& out, const std::string& indent, const std::string& line) const { out += indent + line + "\n"; }
  std::string lines(const SplitItem& item, const std::string& indent, bool with_comments) const;
  /// Of lines in a branch.
  std::string inner_indent() const {
    return kernel_.branch ? source_.indentation(kernel_.items[0].place) : indent_ + source_.step();
  }
  bool find_condition();
  bool add_loop(std::string& out, const SplitItem& item, const clang::ForStmt* loop, const std::string& indent) const;
  bool add_terms(std::string& out) const;
  void add_sums(std::string& out, const SplitItem& item, const std::string& indent) const;
  bool add_result(std::string& out) const;
  bool add_spread(std::string& out) const;

  const KernelSource& source_;
  const SplitKernel& kernel_;
  const std::string threads_, thread_, inside_, indent_;
  std::string condition_;    ///< Under which a thread has work; empty: it always has.
  std::string open_ = " {";  ///< Between a condition's parenthesis and the lines that it guards.
  bool named_ = false;       ///< The condition is a variable's value.
};

/// `text`, whole lines, indented by `to` in place of `from`.
std::string moved(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t next = text.find('\n', at) + 1;
    const std::string line = text.substr(at, next - at);
    out += line.starts_with(from) ? to + line.substr(from.size()) : line;
    at = next;
  }
  return out;
}

/// The item's lines, without blank ones before it.
std::string SplitText::lines(const SplitItem& item, const std::string& indent, bool with_comments) const {
  const size_t begin =
      source_.line_begin(with_comments ? source_.text().find_first_not_of(" \t\n", item.begin) : item.place);
  return moved(source_.text().substr(begin, item.end - begin), source_.indentation(item.place), indent);
}

bool SplitText::find_condition() {
  std::vector<const clang::Stmt*> parts;
  for (auto& guard : kernel_.guards) {
    const std::string text = condition_text(source_, guard.condition, guard.leaves);
    if (text.empty()) return false;
    condition_ += (condition_.empty() ? "" : " && ") + text;
    parts.push_back(guard.condition);
  }
  // What memory holds may change until the sums are known.
  named_ = accesses_memory(parts) || (kernel_.guards.size() > 2 && !kernel_.branch);
  if (!kernel_.branch) return true;
  auto* block = llvm::cast<clang::CompoundStmt>(kernel_.branch->getThen());
  auto close = source_.offset(kernel_.branch->getRParenLoc()), open = source_.offset(block->getLBracLoc());
  if (!close || !open) return false;
  open_ = source_.text().substr(*close + 1, *open - *close);
  return true;
}

/// The item's lines, whose loop the threads share.
bool SplitText::add_loop(std::string& out, const SplitItem& item, const clang::ForStmt* loop,
                         const std::string& indent) const {
  const CountedLoop counted = *CountedLoop::of(loop);
  const bool wide = !counted.counter->getType()->isDependentType() &&
                    source_.context().getTypeSize(counted.counter->getType()) > 32 &&
                    source_.spelled(counted.first) != "0";
  // An unsigned number would make a negative one before it large.
  auto edits = share_iterations(source_, loop, counted, wide ? "(int)threadIdx.y" : "threadIdx.y", threads_);
  if (!edits) return false;
  const size_t first = source_.line_begin(source_.text().find_first_not_of(" \t\n", item.begin));
  for (auto& sum : item.sums)
    for (auto* use : sum.uses) {
      auto place = source_.span(use);
      if (!place) return false;
      if (!sum.in_place) edits->push_back({place->begin, place->end, sum.part});
    }
  for (auto& edit : *edits) edit.begin -= first, edit.end -= first;
  auto text = apply_edits(source_.text().substr(first, item.end - first), *edits);
  if (!text) return false;
  out += moved(*text, source_.indentation(item.place), indent);
  return true;
}

/// What all threads do: they gather their parts, and hand them over.
bool SplitText::add_terms(std::string& out) const {
  add(out, indent_, "// Threads along y share the terms of each sum, and the first of them adds up what they found.");
  std::string begins, hands;
  for (auto& item : kernel_.items)
    for (auto& sum : item.sums) {
      add(out, indent_, "__shared__ " + sum.type + " " + sum.parts + "[" + threads_ + "][" + number(kColumns) + "];");
      if (!sum.in_place) {
        add(begins, indent_, sum.type + " " + sum.part + " = 0;");
      } else if (sum.declaration) {
        auto begin = source_.span(sum.declaration)->begin, end = *source_.statement_end(sum.declaration);
        add(begins, indent_, source_.text().substr(begin, end - begin));
      }
      add(hands, indent_, sum.parts + "[threadIdx.y][threadIdx.x] = " + sum.part + ";");
    }
  out += begins;
  if (named_) add(out, indent_, "const bool " + inside_ + " = " + condition_ + ";");
  if (!condition_.empty()) {
    add(out, indent_, "if (" + (named_ ? inside_ : condition_) + ")" + open_);
  }
  const std::string inner = condition_.empty() ? indent_ : inner_indent();
  for (auto& item : kernel_.items) {
    if (item.loop && !add_loop(out, item, item.loop, inner)) return false;
    if (item.for_terms) out += lines(item, inner, true);
  }
  if (!condition_.empty()) add(out, indent_, "}");
  out += hands;
  add(out, indent_, "__syncthreads();");
  return true;
}

void SplitText::add_sums(std::string& out, const SplitItem& item, const std::string& indent) const {
  const std::string loop = "for (int " + thread_ + " = 1; " + thread_ + " < " + threads_ + "; ++" + thread_ + ") ";
  std::string all, adds;
  for (auto& sum : item.sums) {
    const std::string part = sum.parts + "[" + thread_ + "][threadIdx.x]",
                      text = sum.function.empty()
                                 ? sum.part + " += " + part
                                 : sum.part + " = " + sum.function + "(" + sum.part + ", " + part + ")";
    add(all, item.sums.size() == 1 ? "" : indent + source_.step(), text + ";");
    if (!sum.in_place)
      add(adds, indent, (sum.when.empty() ? "" : "if (" + sum.when + ") ") + sum.target + " += " + sum.part + ";");
  }
  out += indent + loop + (item.sums.size() == 1 ? all : "{\n" + all + indent + "}\n") + adds;
}

/// What the first thread does with the sums.
bool SplitText::add_result(std::string& out) const {
  const std::string first = "threadIdx.y == 0", others = "threadIdx.y > 0", condition = named_ ? inside_ : condition_;
  const bool spread = kernel_.items.back().spread, branches = kernel_.branch || spread;
  if (branches) {
    add(out, indent_, "if (" + (condition.empty() ? first : condition + " && " + first) + ")" + open_);
  } else if (condition_.empty()) {
    add(out, indent_, "if (" + others + ") return;");
  } else if (named_ || kernel_.guards.size() > 1) {
    add(out, indent_, "if (!" + (named_ ? inside_ : "(" + condition_ + ")") + " || " + others + ") return;");
  } else {
    auto* guard = kernel_.guards[0].condition->IgnoreParens();
    auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(guard);
    const std::string text = source_.spelled(guard);
    add(out, indent_,
        "if (" + (comparison && comparison->isComparisonOp() ? text : "(" + text + ")") + " || " + others +
            ") return;");
  }
  const std::string indent = branches ? inner_indent() : indent_;
  for (auto& item : kernel_.items) {
    if (item.loop) add_sums(out, item, indent);
    else if (item.for_result && !(item.for_terms && condition_.empty())) out += lines(item, indent, !item.for_terms);
  }
  if (spread && !add_spread(out)) return false;
  const size_t rest = kernel_.items.back().end;
  out += source_.text().substr(rest, kernel_.end - rest);
  return true;
}

/// The loop behind the sums, which all threads share again.
bool SplitText::add_spread(std::string& out) const {
  add(out, indent_, "}");
  add(out, indent_, "__syncthreads();");
  if (!condition_.empty()) add(out, indent_, "if (" + (named_ ? inside_ : condition_) + ")" + open_);
  const std::string indent = condition_.empty() ? indent_ : inner_indent();
  for (auto& item : kernel_.items) {
    if (item.spread && !add_loop(out, item, item.spread, indent)) return false;
    if (item.for_spread && !(item.for_terms && condition_.empty())) out += lines(item, indent, false);
  }
  if (!condition_.empty() && !kernel_.branch) add(out, indent_, "}");
  return true;
}

std::optional<std::string> SplitText::text() {
  std::string out;
  return find_condition() && add_terms(out) && add_result(out) ? std::optional(out) : std::nullopt;
}

/// The index with a block's new size along its axis, if it is spelled as a number or name.
std::string index_text(const KernelSource& source, const GlobalIndex& index) {
  const std::string text = source.spelled(index.value), width = width_of_index(text, index.axis);
  if (index.axis == 1) return "blockIdx.y";
  return width.starts_with("blockDim.") ? text : with_names(text, {{width, number(kColumns)}});
}

std::vector<Opportunity> find_block_reduction(const KernelSource& source, const RuleContext& facts,
                                              const Bindings& values) {
  const int64_t threads = values.at("threads");
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty()) return {};
  const bool repeats = repeats_along(facts, kernel->getBody(), 1);
  auto works_everywhere = [&](Geometry geometry) {
    if (repeats) geometry.block.y = 1;
    return fills_device(geometry);
  };
  if (std::ranges::all_of(facts.geometries, works_everywhere)) return {};
  auto found = SplitKernel::find(source, facts, kernel);
  if (!found) return {};
  auto columns = [](const Geometry& geometry) { return uint64_t{geometry.grid.x} * geometry.block.x; };
  auto rows = [](const Geometry& geometry) { return uint64_t{geometry.grid.y} * geometry.block.y; };
  if (!std::ranges::all_of(facts.geometries, [&](auto& geometry) {
        return (found->bounded || columns(geometry) % kColumns == 0) && rows(geometry) <= kLargestGrid.y;
      }))
    return {};
  size_t bytes = 0;
  Opportunity opportunity;
  for (auto& item : found->items) {
    if (item.loop && has_few_iterations(source, item.loop, 2 * threads)) return {};
    for (auto& sum : item.sums) bytes += sum.bytes * static_cast<size_t>(threads * kColumns);
    if (item.loop) opportunity.place += (opportunity.place.empty() ? "" : " and ") + source.name(item.loop);
  }
  auto text = bytes <= kOrdinarySharedBytes ? SplitText(source, *found, threads).text() : std::nullopt;
  if (!text) return {};
  opportunity.summary = number(threads) + " threads a sum";
  for (auto* index : {&found->column, found->row ? &*found->row : nullptr}) {
    auto place = index ? source.span(index->value) : std::nullopt;
    if (place) opportunity.edits.push_back({place->begin, place->end, index_text(source, *index)});
  }
  opportunity.edits.push_back({found->begin, found->end, *text});
  const Expression gx = Expression::variable(kGridVariables[0]), gy = Expression::variable(kGridVariables[1]),
                   bx = Expression::variable(kBlockVariables[0]), by = Expression::variable(kBlockVariables[1]);
  opportunity.launch.emplace(kGridVariables[0], ceil_div(gx * bx, Expression::constant(kColumns)));
  if (found->row) opportunity.launch.emplace(kGridVariables[1], gy * by);
  opportunity.launch.emplace(kBlockVariables[0], Expression::constant(kColumns));
  opportunity.launch.emplace(kBlockVariables[1], Expression::constant(threads));
  if (found->row)
    opportunity.premises.push_back(
        facts.premise(*Expression::parse("gridDim.y * blockDim.y <= " + number(kLargestGrid.y))));
  if (!found->bounded)
    opportunity.premises.push_back(
        facts.premise(*Expression::parse("gridDim.x * blockDim.x % " + number(kColumns) + " == 0")));
  if (!found->apart.empty()) opportunity.premises.push_back(facts.no_overlap(found->apart));
  return {opportunity};
}

}  // namespace

const Rule kBlockReduction = {
    "block_reduction",
    "split sums over threads of the block along an axis that the kernel does not use",
    "sums or extrema in loops that every thread with work executes, of numbers or array elements; no other loop but a "
    "last one of independent iterations, and no barrier or shared memory; one column per thread along x, and fewer "
    "threads than a GPU holds",
    {{"threads", {32, 8, 16, 4}}},
    find_block_reduction,
    {Bound::Latency, Bound::Memory},
    1.2,
    true};

}  // namespace kernelift::tuner
