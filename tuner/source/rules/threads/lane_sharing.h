// Statements of a thread, executed by several threads together: they share the iterations of loops that compute sums or
// store elements, execute everything else alike, and one of them performs the other stores.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {

class LaneSharing {
 public:
  /// `lanes` threads of a warp. `interleaved`: neighbouring lanes work on neighbouring rows, so that loads are
  /// coalesced if rows are adjacent in memory; otherwise neighbouring lanes share a row.
  LaneSharing(const KernelSource& source, const RuleContext& facts, int64_t lanes, bool interleaved);
  /// All threads of a block, which are several warps along x.
  static LaneSharing of_block(const KernelSource& source, const RuleContext& facts, int64_t threads);

  bool take_list(const std::vector<const clang::Stmt*>& statements);
  bool take(const clang::Stmt* statement);
  const std::vector<TextEdit>& edits() const { return edits_; }
  /// The name of the thread's number among those that share.
  const std::string& lane() const { return lane_; }
  /// The declaration of the mask of the lanes that share a row; empty if these are all.
  const std::string& group() const { return group_; }
  size_t loops() const { return shared_loops_; }
  const std::set<std::string>& unaliased() const { return loops_.unaliased(); }

 private:
  bool share_loop(const clang::ForStmt* loop);
  bool store_once(const clang::Stmt* statement);
  bool is_only_stored(const clang::Stmt* statement) const;
  /// What follows the loop over shuffles, where more than a warp shares: the warps' results are combined.
  std::string over_warps(const std::string& target, const Reduced& reduced, const std::string& indent);
  std::string unused_name(const std::string& stem);

  const KernelSource& source_;
  LaneLoops loops_;
  std::string count_, lane_, offset_, mask_, group_;
  std::string offsets_;  ///< Head of the loop over shuffle offsets.
  std::string barrier_;  ///< At which all that share wait.
  int64_t warps_ = 1;    ///< That share.
  std::vector<TextEdit> edits_;
  std::set<std::string> names_;  ///< Of variables that the rewritten text declares beside the loops.
  size_t shared_loops_ = 0;
};

}  // namespace kernelift::tuner
