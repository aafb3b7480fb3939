// What is known of a candidate at sizes that were not recorded: its launches and the original's, at every launch site
// of the application, compared for all values of the kernel's parameters (core/legality).
#pragma once
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/legality/legality.h"
#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/application_launch.h"
#include "sandbox/evaluate/kernel_models.h"
#include "sandbox/evaluate/size_plan.h"

namespace kernelift::sandbox {

class SizeComparison {
 public:
  /// EXPECTS: `pool` outlives this. `source`: the kernel's own text.
  /// `seed`: of sizes that are drawn; none: another one each time.
  SizeComparison(const Mep& mep, CompilePool& pool, std::string source, std::optional<uint64_t> seed = {});
  /// Of the same application with other constants: its grids are what the launches say, unless these contradict what
  /// was recorded of the application as it is.
  SizeComparison(SizeComparison& as_it_is, const Mep& other, CompilePool& pool, std::string source);

  /// The least that holds at any launch site. Thread-safe; takes some ten milliseconds for a text that is new, and at
  /// most bounds.seconds of processor time.
  legality::Answer answer(const Candidate& candidate, legality::Bounds bounds = {});
  /// An evaluation with that answer: what is wrong at other sizes is not right.
  Evaluation judged(Evaluation evaluation, const Candidate& candidate, legality::Bounds bounds = {});
  /// The same of a finalist that was run at other sizes: one whose launches have another grid or block is refused where
  /// nothing is known of any other size.
  Evaluation confirmed(Evaluation evaluation, const Candidate& candidate, legality::Bounds bounds);
  /// The verdict on the unchanged text under another launch, if that is surely wrong: it need not be run, and what
  /// leaves its shared arrays ends a GPU's process. The same on any candidate that its confirmation would surely
  /// refuse. nullopt: run it.
  std::optional<Evaluation> refuted(const Candidate& candidate);
  /// A share of the time that its confirmation has.
  static legality::Bounds bounds_of_finalist(std::optional<Deadline> deadline);
  /// The same for a verdict that is right so far, in a thread of its own and of low priority: the search goes on
  /// meanwhile. It takes less time, down to `kLeastPatience`, the more often the time was over before there was an
  /// answer.
  std::future<Evaluation> ask(Evaluation evaluation, Candidate candidate);
  /// What has been asked so far is answered soon, as not known where it was not done.
  void abandon();
  /// The sizes at which a finalist is to be run (size_plan.h): not those that its premise keeps from it.
  SizePlan sizes_to_run(const Candidate& candidate, legality::Bounds bounds);

  static constexpr double kLeastPatience = 0.4;  ///< Seconds of processor time.
  static constexpr size_t kMostAnswers = 10'000;

 private:
  /// The launch's shape over the model's variables. What its site says of the grid is not known where it says otherwise
  /// of a recorded launch that no site explains: then the scan read something that changes before the launch.
  legality::LaunchShape borne_out(const ApplicationLaunch& launch, const std::vector<KernelModel::Member>& members);
  bool explains(const legality::LaunchShape& shape, const MepInstance& instance);
  /// What the original's conditions and loops depend on.
  void note_conditions(SizeQuestion& question);
  KernelModels::Modelled model(const std::string& source, const std::string& kernel, const Dim3& block);
  /// That a block's shared memory suffices for what the candidate has more of than the original; nullopt: it does at
  /// all sizes, or `answer` is that this is not known.
  std::optional<Expression> has_room(const KernelModel& original, const KernelModel& candidate,
                                     const ApplicationLaunch& launch, legality::Answer& answer) const;
  /// Along an axis of which no launch says how many blocks there are.
  bool is_launched_otherwise(const Candidate& candidate);
  /// Whether anything could be proven of a changed text: the original's model has no gaps.
  bool is_understood();
  std::vector<KernelModel::Member> members();  ///< Of structures, as the models have them; none before one was made.
  legality::Names names();                     ///< With those of members.
  /// What the parameters and members were in a recorded launch, by the model's variables.
  Bindings recorded(const MepInstance& instance);
  /// The premise over what C makes of the parameters; nullopt: the type of one is not known.
  std::optional<Expression> declared(const Expression& premise);
  /// EXPECTS: `evaluation` is a verdict that is right so far.
  Evaluation with(legality::Answer known, Evaluation evaluation, const Recipe& recipe);
  legality::Answer compare(const Candidate& candidate, const ApplicationLaunch& launch, legality::Bounds bounds);

  const Mep mep_;
  std::string source_;
  std::string without_unrolling_;              ///< Its tokens without `#pragma unroll`.
  std::vector<ApplicationLaunch> launches_;    ///< Of the application, one for each site and recorded block.
  std::optional<Expression> compared_blocks_;  ///< The recorded ones, if some launch may have another.
  const legality::Names names_;                ///< Of the parameters.
  const uint64_t seed_;
  std::optional<bool> understood_;  ///< is_understood(), once it was asked.
  bool grids_recorded_ = true;      ///< Else with other constants, and no launch contradicts them.
  KernelModels models_;
  std::mutex mutex_;
  std::vector<KernelModel::Member> members_;  ///< Of structures among them, once a model was made.
  struct Answered {
    legality::Answer answer;
    double granted = 0;  ///< Seconds.
    bool in_time = true;
    bool serves(double seconds) const { return in_time || granted >= seconds; }
  };
  std::map<Hash, Answered> answers_;  ///< By source and launches.
  std::stop_source asking_;
  double patience_ = legality::Bounds().seconds;
};

}  // namespace kernelift::sandbox
