// The candidates that models' ideas start from, and that are crossed: one island for each family of strategies, each a
// MAP-Elites archive that keeps the fastest candidate of every cell (ArchiveCell). After every few new elites of an
// island its fastest one migrates to the next. A population is a function of the trials that were added, in their
// order, and of its seed: a resumed run has the same one.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tuner/history.h"
#include "tuner/source/evolution/archive_cell.h"
#include "tuner/source/evolution/family.h"

namespace kernelift::tuner {

class Population {
 public:
  explicit Population(uint64_t seed) : seed_(seed) {}

  struct Member {
    int64_t id = 0;      ///< Of its trial.
    double speedup = 1;  ///< Lower end.
    ArchiveCell cell;
  };
  enum class Placed {
    Not,    ///< It is not right, or its gain cannot be written into the source.
    Known,  ///< Its code and launch are those of an earlier trial.
    Worse,  ///< Its island has a faster one of its cell.
    Elite,
  };
  using Island = std::map<ArchiveCell, Member>;

  /// Trials come in the order of their numbers; one that was added before is ignored. The original founds every island.
  /// `told`: the family of the idea that it carries out, where that is known.
  Placed add(const RunTrial& trial, std::optional<Family> told = {});
  /// It was refused when confirmed: no idea starts from it any more.
  void withdraw(int64_t id);

  const Island& island(Family family) const { return islands_[static_cast<size_t>(family)]; }
  size_t elites() const;
  /// The island on which the trial was placed; that of its parent, if it has no family of its own.
  std::optional<Family> family_of_trial(int64_t id) const;

  /// The member that the next idea should start from, by the gain that is expected of it: how fast it is, and what
  /// ideas that started from it have gained. Every other draw is for the islands, each with a chance of its own.
  /// `draw`: the number of ideas so far. nullopt: all members are `busy`, or there is none.
  std::optional<Member> choose_parent(uint64_t draw, const std::set<int64_t>& busy) const;
  /// At most `count` members of other cells than the parent's, the fastest of each of the other islands first.
  std::vector<Member> inspirations(const Member& parent, size_t count) const;
  /// The trial as a member, whether or not it is one now.
  static Member member_of(const RunTrial& trial) {
    return {trial.id, trial.verdict.speedup_low(), cell_of(trial.candidate, trial.verdict)};
  }
  /// The fastest member of the island.
  std::optional<Member> best_of(Family family) const;

  static constexpr size_t kMigration = 6;  ///< New elites of an island between two migrations from it.

 private:
  struct Start {
    double speedup = 0;  ///< 0: not right.
    std::optional<Family> family;
    int ideas = 0;      ///< Models' ideas that started from it and were judged.
    double gained = 0;  ///< Sum of the logarithms of their speedups over it.
  };
  /// True if it is now the elite of its cell there.
  bool settle(Family family, const Member& member);
  double expected(const Member& member) const;
  void migrate_from(size_t island);

  uint64_t seed_;
  int64_t last_ = 0;
  std::array<Island, kFamilies.size()> islands_;
  std::array<size_t, kFamilies.size()> since_migration_{};
  std::map<int64_t, Start> starts_;  ///< By the trial's number.
  std::set<Hash> codes_;             ///< See code_of().
};

}  // namespace kernelift::tuner
