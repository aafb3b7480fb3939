// A rewrite rule examines a parsed kernel and offers opportunities: each is a set of text edits for one choice of the
// rule's parameters. Rules check the preconditions that the text shows; verification decides whether a candidate is
// correct. The edited text must compile. Rules compose, because each works on the text that the previous one produced.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "tuner/bound.h"
#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

struct TextEdit {
  size_t begin = 0, end = 0;  ///< Replaced range; an insertion if begin == end.
  std::string text;
};

/// Applies the edits; insertions at one position keep their order. nullopt if two edits overlap.
std::optional<std::string> apply_edits(const std::string& text, std::vector<TextEdit> edits);

struct Rule;

/// Facts about the kernel that its text does not show.
struct RuleContext {
  std::string kernel;  ///< Name expression.
  /// If the text is a whole unit: the lines, from 0, of the functions that the kernel uses. Empty for a slice, which
  /// has no others.
  std::set<size_t> own_lines;
  std::vector<Geometry> geometries;  ///< Distinct recorded geometries.
  size_t launches = 0;               ///< Number of recorded launches.
  /// Indices of pointer parameters whose memory another argument may lead to as well, by the recorded launches and by
  /// the text of all launch sites.
  std::set<size_t> shared_pointers;
  /// Bytes from a pointer parameter's address to the end of its memory, by parameter index: the largest recorded.
  std::map<size_t, uint64_t> extents;
  bool block_is_knob = false;  ///< The launch computes the block's size from knobs.
  /// The number of threads as an expression that the kernel's text can use, too ("BLOCK_X * BLOCK_Y"); empty if there
  /// is none.
  std::string threads_text;
  uint64_t most_threads = 0;  ///< Largest number of threads, if all launch sites spell it in numbers; else 0.
  /// Rules that give fewer blocks the work of all offer forms that keep the grid, too: kernels learn the original
  /// number of blocks from it. Needed where a smaller grid is wrong at other sizes.
  bool keep_grid = false;
  /// true: every launch site spells a multiple of 32 for the block's x size; false: one spells another size.
  std::optional<bool> whole_warps;
  /// Every launch site spells one block and one thread along the axis.
  std::array<bool, 3> single = {};
  /// All recorded launches were in the default stream, where none begins before the one before it has ended.
  bool one_after_other = false;

  Bound bound = Bound::Unknown;
  /// Gets a sentence where a rule was expected to apply and does not: "the loop over k: …"; may be empty.
  std::function<void(const Rule&, const std::string& sentence)> declined = {};
  bool hip = false;     ///< Warps may have 64 threads, and warp operations take masks of 64 bits.
  bool on_cpu = false;  ///< Candidates run on the CPU device, where registers and occupancy do not matter.

  static RuleContext of(const Mep& mep);
  /// The facts for the candidate's own launches, whose sizes another rule or the parameter tier may have set.
  RuleContext launched_as(const Candidate& candidate) const;
  /// Whether, within the statement, only `pointer` leads to its memory: no other variable that is named there derives
  /// from the same pointer, and that one is a kernel parameter outside of shared_pointers.
  bool is_unaliased(const KernelSource& source, const clang::VarDecl* pointer, const clang::Stmt* within) const;
  /// A condition over names of the kernel's text that all recorded launches fulfil.
  Premise premise(Expression condition) const;
  /// The premise that none of these arrays overlaps another array.
  Premise no_overlap(const std::set<std::string>& arrays) const;
};

struct Opportunity {
  std::string place;  ///< "the loop over k".
  Bindings values;    ///< The rule's parameters.
  std::vector<TextEdit> edits;
  std::string summary = {};               ///< The values in words ("by 4"); empty: names and numbers are clear enough.
  std::vector<Premise> premises = {};     ///< Conditions under which the edits are correct.
  std::vector<std::string> effects = {};  ///< See Step::effects.
  /// New sizes of grid and block over those of the launch that is changed, by its variables: {"gx": ceil_div(gx, 4)}.
  std::map<std::string, Expression> launch = {};

  void multiply_grid(int axis, int64_t by);
  /// The quotient is rounded up.
  void divide_grid(int axis, int64_t by);
};

struct RuleParameter {
  std::string name;
  std::vector<int64_t> values;
};

struct Rule {
  const char* name;
  const char* summary;  ///< For people.
  const char* expects;  ///< Preconditions, for people.
  std::vector<RuleParameter> parameters;
  std::vector<Opportunity> (*find)(const KernelSource&, const RuleContext&, const Bindings& values);
  std::vector<Bound> helps = {};  ///< Bounds of the kernels that profit most; empty: no preference.
  /// Expected log gain before it was tried on a kernel, by what it gained where it applied
  /// (docs/benchmarks/polybench.md).
  double gain = 0.03;
  /// What it writes is right for every type that a template's argument may have, where it sees only one instance's.
  bool any_type = false;
};

/// The rule's opportunities for all choices of its parameters.
std::vector<Opportunity> opportunities(const Rule& rule, const KernelSource& source, const RuleContext& facts);

/// The rules, the likeliest to help first. Each is in <its name>.cpp.
extern const Rule kScalarPromotion, kRestrictPointers, kUnroll, kBlockCoarsening, kFloatLiterals, kPadShared,
    kLaunchBounds, kReciprocal, kDoubleToFloat, kUnrollAndJam, kWarpReduction, kWarpAggregation, kSharedPrivatisation,
    kBlockMerging, kSwapBlockAxes, kModuloToCompare, kFastMath, kConstantToGlobal, kLoopToGrid, kSharedTiling,
    kBlockReduction, kStencilRegisterTiling, kSlidingWindow, kVectorisedAccesses, kSplitK, kMultipleAccumulators,
    kThreadToWarp, kGridStride, kRegisterPrivatisation, kStencilSharedTiling, kStreamingAccesses, kLoopToThreads,
    kStaticTable, kThreadCoarsening, kNarrowDivision;
const std::vector<const Rule*>& all_rules();
/// nullptr: no rule has that name.
const Rule* find_rule(std::string_view name);

}  // namespace kernelift::tuner
