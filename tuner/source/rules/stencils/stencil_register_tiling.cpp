// stencil_register_tiling: neighbouring threads of a stencil read the same elements,
//   int i = blockIdx.y * blockDim.y + threadIdx.y;
//   if (i > 0 && i < n - 1) out[i * n + j] = a[(i - 1) * n + j] + a[i * n + j] + a[(i + 1) * n + j];
// Each thread computes several consecutive rows (or planes), and keeps what these share in registers:
//   const int i_first = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
//   float a_rows[6];
//   for (u = 0; u < 4; ++u) if (i_first + u < n - 1) a_rows[u + 2] = a[(i + 1) * n + j];
//   for (u = 0; u < 4; ++u) if (i_first + u < n - 1) out[i * n + j] = a_rows[u] + a_rows[u + 1] + a_rows[u + 2];
// Of many rows only those that one output needs are kept, in a window that slides along (in 3-D: 2.5-D streaming).
// Every load is one that the original makes for the same row, and no guard is written twice: a lower bound becomes the
// first row, upper bounds are asked of each row. Threads of a kernel without barriers are not ordered, so one thread
// may do the work of several in any order.
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/stencils/register_window.h"
#include "tuner/source/rules/stencils/row_kernel.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kRowsAtOnce = 8;  ///< More rows slide through a window.
constexpr size_t kMostValues = 64;  ///< Of a thread, in registers.
constexpr const char* kWhat[] = {"columns", "rows", "planes"};

class RowTiler {
 public:
  RowTiler(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
           const GlobalIndex& index, int64_t rows)
      : source_(source), facts_(facts), kernel_(source, kernel, index, rows), rows_(rows) {}

  std::optional<Opportunity> run();
  /// Why the kernel looks like a stencil and is left alone; else empty.
  const std::string& why_not() const { return why_not_; }
  /// A condition keeps the index in bounds, so that there may be more threads.
  bool bounded() const { return kernel_.bounded(); }

 private:
  std::nullopt_t give_up(const std::string& why) {
    why_not_ = why;
    return std::nullopt;
  }
  bool stores_stay_apart(std::set<std::string>& apart) const;
  std::string rows_loop(const std::string& indent, const std::function<std::string(const std::string&)>& content) const;
  std::string text(const std::string& indent) const;
  bool slides() const { return rows_ > kRowsAtOnce; }

  const KernelSource& source_;
  const RuleContext& facts_;
  RowKernel kernel_;
  const int64_t rows_;
  std::string why_not_;
  std::optional<RegisterWindows> windows_;
  std::string counter_, other_counter_;
};

/// Values are kept while other rows are stored. Only where a store comes before a read of the same row has the order a
/// meaning, and then they have to be apart.
bool RowTiler::stores_stay_apart(std::set<std::string>& apart) const {
  const auto reads = windows_->reads();
  bool stored = false, store_before = false;
  for (auto* statement : kernel_.work()) {
    walk(statement, [&](const clang::Stmt* inner) {
      store_before |= stored && std::ranges::find(reads, inner) != reads.end();
      return true;
    });
    stored |= LaneLoops(source_, facts_).writes_memory(statement);
  }
  for (auto* read : reads) {
    auto* array = named_variable(llvm::cast<clang::ArraySubscriptExpr>(read)->getBase());
    if (!touches_other_memory(kernel_.body(), array)) continue;
    if (!facts_.is_unaliased(source_, array, kernel_.body())) return false;
    if (store_before) apart.insert(array->getNameAsString());
  }
  return true;
}

std::string RowTiler::rows_loop(const std::string& indent,
                                const std::function<std::string(const std::string&)>& content) const {
  const std::string inner = indent + source_.step(), condition = kernel_.in_bounds();
  const std::string head = indent + (slides() ? "#pragma unroll 4\n" : "#pragma unroll\n") + indent + "for (int " +
                           counter_ + " = 0; " + counter_ + " < " + std::to_string(rows_) + "; ++" + counter_ +
                           ") {\n" + inner + kernel_.declares(kernel_.index_name()) + kernel_.first_name() + " + " +
                           counter_ + ";\n";
  if (condition.empty()) return head + content(inner) + indent + "}\n";
  return head + inner + "if (" + condition + ") {\n" + content(inner + source_.step()) + inner + "}\n" + indent + "}\n";
}

std::string RowTiler::text(const std::string& indent) const {
  auto lines = [](const std::string& at, const std::vector<std::string>& all) {
    std::string out;
    for (auto& line : all) out += at + line + "\n";
    return out;
  };
  const auto reads = windows_->reads();
  std::string out = indent + "// Each thread computes " + std::to_string(rows_) + " " + kWhat[kernel_.index().axis] +
                    ", and keeps what they share of " + windows_->arrays() + " in registers.\n" +
                    lines(indent, windows_->declarations(slides() ? 0 : rows_ - 1));
  if (!slides())
    out += rows_loop(indent, [&](const std::string& at) {
      return kernel_.text_of(at, kernel_.needed_declarations(reads, true)) +
             lines(at, windows_->loads(counter_, counter_));
    });
  return out + rows_loop(indent, [&](const std::string& at) {
           std::vector<TextEdit> edits = windows_->uses(slides() ? "" : counter_);
           const std::string before = kernel_.text_of(at, kernel_.needed_declarations(kernel_.work(), false));
           if (!slides()) return before + kernel_.work_text(at, edits);
           // The loads go in front of the first statement that needs them.
           for (auto* statement : kernel_.work()) {
             bool uses = false;
             walk(statement,
                  [&](const clang::Stmt* inner) { return !(uses |= std::ranges::find(reads, inner) != reads.end()); });
             if (!uses) continue;
             const size_t begin = source_.span(statement)->begin;
             const std::string old = source_.indentation(begin);
             edits.push_back({begin, begin, lines(old, windows_->loads("", counter_)).substr(old.size()) + old});
             break;
           }
           return before + kernel_.work_text(at, edits) + lines(at, windows_->shifts(other_counter_));
         });
}

std::optional<Opportunity> RowTiler::run() {
  const bool parts = kernel_.find_parts();
  const std::string name = kernel_.index_name();
  auto reads = shifted_reads(source_, kernel_.sums(), kernel_.body(), kernel_.work());
  if (reads.runs.empty()) return give_up(reads.why_not);
  if (!parts) return give_up("a condition on " + name + " is more than a lower and upper bounds");
  if (auto why = kernel_.why_not_repeated(); !why.empty()) return give_up(why);
  windows_ = RegisterWindows::of(source_, reads.runs, kWhat[kernel_.index().axis]);
  if (!windows_) return give_up("the type of its elements cannot be spelled");
  if (windows_->values(slides() ? 0 : rows_ - 1) > kMostValues || (slides() && windows_->has_gaps()))
    return std::nullopt;
  std::set<std::string> apart;
  if (!stores_stay_apart(apart)) return give_up(windows_->arrays() + " may overlap what the kernel stores");
  if (!bounded() && !kernel_.lower_bound().empty()) return give_up("nothing bounds " + name);
  counter_ = source_.fresh_name("u"), other_counter_ = source_.fresh_name("v");

  Opportunity found;
  found.place = std::string(kWhat[kernel_.index().axis]) + " of " + name;
  found.summary = std::to_string(rows_) + " " + kWhat[kernel_.index().axis] + " a thread" +
                  (slides() ? ", a sliding window of what they share in registers" : "");
  auto edits = kernel_.edits([&](const std::string& indent) { return text(indent); });
  if (!edits) return std::nullopt;
  found.edits = std::move(*edits);
  found.divide_grid(kernel_.index().axis, rows_);
  if (!bounded()) {
    const std::string grid = std::string("gridDim.") + kAxisNames[kernel_.index().axis];
    found.premises.push_back(facts_.premise(*Expression::parse(grid + " % " + std::to_string(rows_) + " == 0")));
  }
  if (!apart.empty()) found.premises.push_back(facts_.no_overlap(apart));
  return found;
}

std::vector<Opportunity> find_stencil_register_tiling(const KernelSource& source, const RuleContext& facts,
                                                      const Bindings& values) {
  const int64_t rows = values.at("rows");
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty() || !RowKernel::is_fit(source, kernel)) return {};
  std::vector<Opportunity> all;
  for (int axis : {1, 2}) {
    auto index = global_index(source, kernel, axis);
    if (!index || !index->declared) continue;
    RowTiler tiler(source, facts, kernel, *index, rows);
    auto found = tiler.run();
    if (!found && !tiler.why_not().empty() && facts.declined)
      facts.declined(kStencilRegisterTiling, "the " + std::string(kWhat[axis]) + " of " +
                                                 index->variable->getNameAsString() + ": " + tiler.why_not());
    const bool enough = std::ranges::all_of(facts.geometries, [&](auto& geometry) {
      const int64_t blocks = along(geometry.grid, axis);
      return blocks >= rows && (tiler.bounded() || blocks % rows == 0);
    });
    if (found && enough) all.push_back(std::move(*found));
  }
  return all;
}

}  // namespace

const Rule kStencilRegisterTiling = {
    "stencil_register_tiling",
    "let each thread of a stencil compute several rows or planes, and keep what they share in registers",
    "a global index along y or z with a lower and upper bounds, several reads of one array at constant distances along "
    "it, under no condition; the kernel stores to no such array, and has no barrier or shared memory",
    {{"rows", {4, 2, 8, 16, 32}}},
    find_stencil_register_tiling,
    {Bound::Memory, Bound::Latency},
    0.3};

}  // namespace kernelift::tuner
