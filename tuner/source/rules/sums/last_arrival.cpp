// See last_arrival.h. A thread that no other one waits for counts its own arrivals, so that threads may return early:
//   if (parts > 1) {
//     s_parts[blockIdx.y][thread] = s;
//     __threadfence();
//     if (atomicInc(&arrived[thread], parts - 1) < parts - 1) return;
//     __threadfence();
//     s = s_parts[0][thread];
//     for (unsigned int part = 1; part < parts; ++part) s += s_parts[part][thread];
//   }
//   y[i] = s;
// Where the block's threads wait for each other later, the block arrives as a whole. The counter is 0 again once all
// have arrived, as the next launch needs it. The arrays are static variables of the kernel: each instance of a template
// has its own, and nothing else can name them.
#include "tuner/source/rules/sums/last_arrival.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <bit>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

bool uses_shared_memory(const clang::Stmt* root) {
  bool found = false;
  walk(root, [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    found |= reference && reference->getDecl()->hasAttr<clang::CUDASharedAttr>();
    return !found;
  });
  return found;
}

constexpr uint64_t kMostGrowth = 4;  ///< Of launches, beyond the recorded ones, whose sums are shared, too.

/// Blocks may wait for each other there: by a fence, a flag. More of them than run at once would wait for ever.
bool waits_for_blocks(const clang::Stmt* root) {
  bool found = false;
  walk(root, [&](const clang::Stmt* inner) {
    auto* value = llvm::dyn_cast<clang::Expr>(inner);
    auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
    auto* callee = call ? call->getDirectCallee() : nullptr;
    found |= (value && value->getType().isVolatileQualified()) ||
             (callee && callee->getIdentifier() && callee->getName().starts_with("__threadfence"));
    return !found;
  });
  return found;
}

/// Statements of which it is not known where they lead.
bool has_jumps(const clang::Stmt* root) {
  bool found = false;
  walk(root, [&](const clang::Stmt* inner) {
    found |= llvm::isa<clang::AsmStmt, clang::GotoStmt, clang::LabelStmt, clang::LambdaExpr>(inner);
    return !found;
  });
  return found;
}

/// Without the parentheses that a factor needs.
std::string plain(const std::string& factor) {
  return factor.front() == '(' ? factor.substr(1, factor.size() - 2) : factor;
}

class Arrival {
 public:
  Arrival(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
          const clang::ForStmt* loop, int axis, int64_t blocks)
      : source_(source),
        facts_(facts),
        kernel_(kernel),
        loop_(loop),
        axis_(axis),
        blocks_(blocks),
        loops_(source, facts) {}

  std::optional<LastArrival> made();

 private:
  bool only_reads_before() const;
  bool all_threads_arrive() const;
  std::optional<std::string> number_threads(std::vector<Premise>& premises);
  bool read_targets();
  std::string text(const std::string& indent) const;
  std::string arrival(const std::string& indent) const;
  std::string sums(const std::string& indent) const;

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const clang::ForStmt* loop_;
  const int axis_;
  const int64_t blocks_;
  LaneLoops loops_;
  struct Target {
    std::string name, type, function, kept;  ///< `function` of an extremum; else empty.
    bool begins_with_zero = false;
  };
  std::vector<Target> targets_;
  bool whole_block_ = false;  ///< Threads of the block wait for each other.
  std::string block_, in_block_, thread_, threads_;
  const std::string thread_name_ = source_.fresh_name("thread"), threads_name_ = source_.fresh_name("threads"),
                    parts_ = source_.fresh_name("parts"), part_ = source_.fresh_name("part"),
                    arrived_ = source_.fresh_name("arrived"), is_last_ = source_.fresh_name("is_last");
};

/// The loop runs once in a thread, and nothing but what follows it in its block of statements writes memory.
bool Arrival::only_reads_before() const {
  const clang::Stmt* below = loop_;
  for (const clang::Stmt* up = source_.parent(loop_);; below = up, up = source_.parent(up)) {
    if (auto* branch = llvm::dyn_cast_or_null<clang::IfStmt>(up)) {
      for (const clang::Stmt* part :
           {static_cast<const clang::Stmt*>(branch->getCond()), static_cast<const clang::Stmt*>(branch->getInit()),
            branch->getThen(), branch->getElse()})
        if (part && part != below && loops_.writes_memory(part)) return false;
      continue;
    }
    auto* list = llvm::dyn_cast_or_null<clang::CompoundStmt>(up);
    if (!list) return false;
    bool before = true;
    for (auto* statement : list->body()) {
      if (statement == below) before = false;
      else if ((before || below != loop_) && loops_.writes_memory(statement)) return false;
    }
    if (up == kernel_->getBody()) return true;
  }
}

bool Arrival::all_threads_arrive() const {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel_->getBody());
  if (!body || source_.parent(loop_) != body) return false;
  const auto changed = reassigned(body);
  for (auto* statement : body->body()) {
    if (statement == loop_) return true;
    bool returns = false;
    walk(statement, [&](const clang::Stmt* inner) { return !(returns |= llvm::isa<clang::ReturnStmt>(inner)); });
    auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
    if (returns && !(guard && !guard->getElse() && only_returns(guard->getThen()) &&
                     is_uniform_in_block(guard->getCond(), changed)))
      return false;
  }
  return false;
}

/// The thread's number in the grid, over the axes that are in use; the others have one thread.
std::optional<std::string> Arrival::number_threads(std::vector<Premise>& premises) {
  std::set<char> used{'x'};
  for (auto* function : source_.functions())
    if (function == kernel_ || !function->hasAttr<clang::CUDAGlobalAttr>())
      walk(function->getBody(), [&](const clang::Stmt* inner) {
        if (auto builtin = builtin_of(inner)) used.insert(builtin->second);
        return true;
      });
  if (used.contains(0)) return std::nullopt;
  block_ = "blockIdx.x", in_block_ = "threadIdx.x", threads_ = "gridDim.x * blockDim.x";
  std::string in_one = "blockDim.x", single;
  for (int axis : {1, 2}) {
    const std::string name = kAxisNames[axis];
    auto is_single = [&](auto& geometry) {
      return along(geometry.grid, axis) == 1 && along(geometry.block, axis) == 1;
    };
    if (axis == axis_ || (!used.contains(name[0]) && std::ranges::all_of(facts_.geometries, is_single))) {
      if (facts_.single[static_cast<size_t>(axis)]) continue;
      single += (single.empty() ? "" : " && ") + ("gridDim." + name) + " == 1 && blockDim." + name + " == 1";
    } else {
      block_ = "(blockIdx." + name + " * gridDim.x + blockIdx.x)";
      in_block_ = "(threadIdx." + name + " * blockDim.x + threadIdx.x)";
      threads_ += " * gridDim." + name + " * blockDim." + name, in_one += " * blockDim." + name;
    }
  }
  thread_ = block_ + " * " + in_one + " + " + plain(in_block_);
  if (!single.empty()) premises.push_back(facts_.premise(*Expression::parse(single)));
  return thread_;
}

bool Arrival::read_targets() {
  const CountedLoop counted = *CountedLoop::of(loop_, true);
  auto reduced = loops_.reduced_variables(loop_, counted.counter);
  if (!reduced || reduced->empty()) return false;
  for (auto& [key, one] : *reduced) {
    const std::string type = spelled_type(source_, one.root);
    if (!one.root->getType()->isArithmeticType() || type.empty()) return false;
    const std::string name = one.root->getNameAsString();
    targets_.push_back({name, type, one.how == Reduced::How::Sum ? "" : one.function,
                        source_.fresh_name(name + "_parts"), is_zero_before(source_, loop_, one.root)});
  }
  return true;
}

std::string Arrival::arrival(const std::string& indent) const {
  const std::string counter = arrived_ + "[" + (whole_block_ ? plain(block_) : thread_name_) + "]",
                    count = "atomicInc(&" + counter + ", " + parts_ + " - 1)";
  if (!whole_block_) return indent + "if (" + count + " < " + parts_ + " - 1) return;\n";
  return indent + "__syncthreads();\n" + indent + "if (" + plain(in_block_) + " == 0) " + is_last_ + " = " + count +
         " == " + parts_ + " - 1;\n" + indent + "__syncthreads();\n" + indent + "if (!" + is_last_ + ") return;\n";
}

std::string Arrival::sums(const std::string& indent) const {
  std::string first, further;
  const bool several = targets_.size() > 1;
  for (auto& target : targets_) {
    first += indent + target.name + " = " + target.kept + "[0][" + thread_name_ + "];\n";
    const std::string one = target.kept + "[" + part_ + "][" + thread_name_ + "]";
    further += several ? indent + source_.step() : " ";
    further += target.function.empty() ? target.name + " += " + one
                                       : target.name + " = " + target.function + "(" + target.name + ", " + one + ")";
    further += ";\n";
  }
  return first + indent + "for (unsigned int " + part_ + " = 1; " + part_ + " < " + parts_ + "; ++" + part_ + ")" +
         (several ? " {\n" + further + indent + "}\n" : further);
}

std::string Arrival::text(const std::string& indent) const {
  const std::string inner = indent + source_.step(), axis = kAxisNames[axis_];
  std::string kept;
  for (auto& target : targets_)
    kept += inner + target.kept + "[blockIdx." + axis + "][" + thread_name_ + "] = " + target.name + ";\n";
  return indent + "if (" + parts_ + " > 1) {\n" + kept + inner + "__threadfence();\n" + arrival(inner) + inner +
         "__threadfence();\n" + sums(inner) + indent + "}";
}

std::optional<LastArrival> Arrival::made() {
  LastArrival last;
  uint64_t most = 1;
  for (auto& geometry : facts_.geometries) {
    if (geometry.cooperative) return std::nullopt;
    most = std::max(most, std::bit_ceil(geometry.grid.count() * geometry.block.count()));
  }
  auto* body = kernel_->getBody();
  if (most * static_cast<uint64_t>(blocks_) > kMostKept || has_few_iterations(source_, loop_, 2 * blocks_) ||
      has_jumps(body) || !only_reads_before() ||
      std::ranges::any_of(source_.functions(), [](auto* function) { return waits_for_blocks(function->getBody()); }))
    return std::nullopt;
  whole_block_ = has_barrier(body) || uses_shared_memory(body);
  if ((whole_block_ && !all_threads_arrive()) || !read_targets() || !number_threads(last.premises)) return std::nullopt;
  const CountedLoop counted = *CountedLoop::of(loop_, true);
  const std::string axis = kAxisNames[axis_];
  const bool wide =
      !counted.counter->getType()->isDependentType() && source_.context().getTypeSize(counted.counter->getType()) > 32;
  auto begin = source_.span(loop_);
  auto end = source_.statement_end(loop_);
  // An unsigned number would make a negative one before it large.
  auto header = share_iterations(source_, loop_, counted, (wide ? "(int)blockIdx." : "blockIdx.") + axis,
                                 wide ? "(int)" + parts_ : parts_);
  if (!begin || !end || !header || !source_.first_on_line(begin->begin)) return std::nullopt;
  const std::string indent = source_.indentation(begin->begin),
                    room = std::to_string(std::min(kMostGrowth * most, kMostKept / blocks_));
  std::string declared, resets;
  for (auto& target : targets_) {
    declared +=
        indent + "static " + target.type + " " + target.kept + "[" + std::to_string(blocks_) + "][" + room + "];\n";
    if (target.function.empty() && !target.begins_with_zero)
      resets += indent + "if (blockIdx." + axis + " > 0) " + target.name + " = 0;\n";
  }
  declared += indent + "static unsigned int " + arrived_ + "[" + room + "];\n";
  if (whole_block_) declared += indent + "__shared__ bool " + is_last_ + ";\n";
  const std::string before =
      "// Blocks along " + axis + " share the iterations; the last one that arrives puts together what all found.\n" +
      declared + indent + "const unsigned int " + thread_name_ + " = " + thread_ + ";\n" + indent +
      "const unsigned int " + threads_name_ + " = " + threads_ + ";\n" + indent + "const unsigned int " + parts_ +
      " = " + threads_name_ + " <= " + room + " ? gridDim." + axis + " : 1;\n" + indent + "if (blockIdx." + axis +
      " >= " + parts_ + ") return;\n" + resets + indent;
  last.edits.push_back({begin->begin, begin->begin, before});
  last.edits.insert(last.edits.end(), header->begin(), header->end());
  last.edits.push_back({*end, *end, "\n" + text(indent)});
  last.premises.push_back({.words = "no two launches of the kernel run at the same time", .launches = facts_.launches});
  return last;
}

}  // namespace

std::optional<LastArrival> LastArrival::of(const KernelSource& source, const RuleContext& facts,
                                           const clang::FunctionDecl* kernel, const clang::ForStmt* loop, int axis,
                                           int64_t blocks) {
  return Arrival(source, facts, kernel, loop, axis, blocks).made();
}

}  // namespace kernelift::tuner
