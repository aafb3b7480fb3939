// thread_coarsening: each thread does the work of K threads of its block, interleaved statement by statement, between
// the same barriers; the block has K times fewer threads:
//   int t = threadIdx.x;  tile[t + R] = in[…];  __syncthreads();  for (d…) sum += tile[t + d];
// becomes, for K = 4,
//   int t[4];  for (u…) t[u] = threadIdx.x * 4 + u;  …  for (d…) for (u…) sum[u] += tile[t[u] + d];
// Neighbouring threads share what they read of a tile in registers; threads that are a part of the block apart keep the
// loads of a warp coalesced. Threads of a block are not ordered between two barriers, so their work may be done in any
// order within one thread.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/jammed_copies.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kMostThreads = 16;  ///< Whose values are kept in one thread's registers.
constexpr uint64_t kWarp = 32;
constexpr size_t kLongestCoarsened = 6000;  ///< Characters; the registers of longer bodies spill.

struct Coarsened {
  int axis = 0;
  int64_t count = 1;  ///< Threads per new one.
};

class ThreadCoarsening {
 public:
  /// `apart`: the threads that one takes over are a new block's width apart; otherwise they are neighbours.
  ThreadCoarsening(const KernelSource& source, const clang::CompoundStmt* body, std::vector<Coarsened> axes, bool apart)
      : source_(source),
        body_(body),
        axes_(std::move(axes)),
        width_(source.fresh_name("width_of_block")),
        copies_(source, jam_axes(apart), /*shared_is_common=*/true) {}
  std::optional<TextEdit> rewrite();

 private:
  std::vector<JamAxis> jam_axes(bool apart) const;
  /// Stands for blockDim of the smaller block, until that of the original is spelled.
  std::string width(int axis) const { return width_ + kAxisNames[axis]; }

  const KernelSource& source_;
  const clang::CompoundStmt* body_;
  const std::vector<Coarsened> axes_;
  const std::string width_;
  JammedCopies copies_;
};

std::vector<JamAxis> ThreadCoarsening::jam_axes(bool apart) const {
  std::vector<JamAxis> all;
  for (auto& [axis, count] : axes_) {
    const std::string thread = std::string("threadIdx.") + kAxisNames[axis], times = std::to_string(count);
    auto in_loop = [thread, times, apart, width = width(axis)](const std::string& number) {
      return apart ? "(" + thread + " + " + number + " * " + width + ")"
                   : "(" + thread + " * " + times + " + " + number + ")";
    };
    all.push_back({count, nullptr, thread, source_.fresh_name(std::string("thread_") + kAxisNames[axis]), in_loop});
  }
  return all;
}

std::optional<TextEdit> ThreadCoarsening::rewrite() {
  std::vector<const clang::Stmt*> statements(body_->body_begin(), body_->body_end());
  auto open = source_.offset(body_->getLBracLoc()), close = source_.offset(body_->getRBracLoc());
  if (statements.empty() || !open || !close || *close - *open > kLongestCoarsened) return std::nullopt;
  copies_.dependence().propagate(statements, {});
  for (auto& [variable, axes] : copies_.dependence().dependents())
    if (!variable->hasLocalStorage() || llvm::isa<clang::ParmVarDecl>(variable)) return std::nullopt;
  const size_t begin = *open + 1;
  const std::string indent = source_.indentation(*close) + source_.step();
  std::vector<JammedCopies::Piece> pieces;
  if (waits_by_thread(source_, body_, has_block_barrier) || !copies_.names_can_be_copied(body_, {begin, *close}) ||
      !copies_.plan(statements, begin, indent, pieces) || !copies_.use_arrays(pieces, {}))
    return std::nullopt;
  std::map<std::string, std::string> names;
  for (auto& [axis, count] : axes_) {
    const std::string size = std::string("blockDim.") + kAxisNames[axis];
    names.emplace(size, "(" + size + " * " + std::to_string(count) + ")");
    names.emplace(width(axis), size);
  }
  const std::string closing = source_.first_on_line(*close) ? source_.indentation(*close) : "";
  return TextEdit{begin, *close, "\n" + with_names(copies_.text(pieces), names) + closing};
}

std::vector<Opportunity> find_thread_coarsening(const KernelSource& source, const RuleContext& facts,
                                                const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  // Kernels whose threads do not wait for each other are left to unroll_and_jam.
  if (!body || !has_block_barrier(body) || has_vote_or_exchange(body) || !kernel->getReturnType()->isVoidType() ||
      facts.geometries.empty() || others_read_indices(source) || keeps_addresses(source, body) ||
      !may_interleave(source, body, {"threadIdx", "blockDim"}))
    return {};
  std::vector<Coarsened> axes;
  Opportunity found;
  int64_t threads = 1;
  std::string along_axes;
  for (int axis = 0; axis < 2; ++axis) {
    const std::string name = kAxisNames[axis];
    const int64_t count = values.at(name);
    if (count <= 1) continue;
    const Expression size = Expression::variable(kBlockVariables[axis]);
    axes.push_back({axis, count});
    threads *= count;
    along_axes += (along_axes.empty() ? " along " : ", ") + name;
    found.launch.emplace(kBlockVariables[axis], size / Expression::constant(count));
    found.premises.push_back(
        facts.premise(*Expression::parse("blockDim." + name + " % " + std::to_string(count) + " == 0")));
  }
  auto divides = [&](const Geometry& geometry) {
    return std::ranges::all_of(axes, [&](auto& one) { return along(geometry.block, one.axis) % one.count == 0; }) &&
           geometry.block.count() / static_cast<uint64_t>(threads) >= kWarp;
  };
  if (axes.empty() || threads > kMostThreads || !std::ranges::all_of(facts.geometries, divides)) return {};
  std::vector<Opportunity> all;
  for (bool apart : {false, true}) {
    auto edit = ThreadCoarsening(source, body, axes, apart).rewrite();
    if (!edit) continue;
    Opportunity form = found;
    form.place = (apart ? "distant threads" : "neighbouring threads") + along_axes;
    form.edits.push_back(std::move(*edit));
    all.push_back(std::move(form));
  }
  return all;
}

}  // namespace

const Rule kThreadCoarsening = {
    "thread_coarsening",
    "let each thread do the work of several threads of its block, between the same barriers",
    "barriers that all threads reach, and no votes or shuffles; no return; the thread's index is read in the kernel "
    "itself; a block's size is a multiple of the factor",
    {{"x", {1, 4, 2, 8}}, {"y", {1, 4, 2, 8}}},
    find_thread_coarsening,
    {Bound::Compute, Bound::Latency, Bound::Memory},
    0.15};

}  // namespace kernelift::tuner
