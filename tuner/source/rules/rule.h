// A rewrite rule: looks at a parsed kernel and offers opportunities, each a set of textual edits at one place with one
// choice of the rule's own parameters. Rules check what they can (EXPECTS) and never decide correctness: verification
// does. They must produce text that compiles, and they compose, because each works on whatever text the last one left.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/launch/quotient.h"
#include "core/model/mep.h"
#include "tuner/bound.h"
#include "tuner/source/rules/kernel_source.h"

namespace kernelift {

struct TextEdit {
  size_t begin = 0, end = 0;  ///< Replaced range; begin == end inserts.
  std::string text;
};

/// Applies edits that do not overlap; insertions at one place keep their order. nullopt if two overlap.
std::optional<std::string> apply_edits(const std::string& text, std::vector<TextEdit> edits);

/// What is known of the kernel beside its text.
struct RuleContext {
  std::string kernel;                ///< Name expression.
  std::vector<Geometry> geometries;  ///< Recorded, distinct.
  std::set<size_t> shared_pointers;  ///< Pointer parameters whose memory may be reached another way too …
  size_t launches = 0;               ///< … as these many recorded ones, and the text of all launch sites, say.
  std::map<size_t, uint64_t>
      extents;                 ///< Bytes from where a pointer parameter points to the end of its memory, at most.
  bool block_is_knob = false;  ///< The launch computes its block from macros or constants that may be turned …
  std::string threads_text;    ///< … and so may the kernel's text: "BLOCK_X * BLOCK_Y"; empty if it cannot.
  uint64_t most_threads = 0;   ///< Of the blocks that all launch sites spell in numbers; 0: one does not.
  bool rounds_up[3] = {
      true, true,
      true};  ///< Along these axes launches start threads past the end by themselves: a few more do no harm.
  std::optional<std::set<CoveredSize>>
      covered[3];  ///< The sizes that the launches cover along these axes; nullopt: theirs do not depend on any.
  std::optional<bool>
      whole_warps;  ///< Every launch site spells a multiple of 32 for the block along x; or one spells another size.

  Bound bound = Bound::Unknown;
  bool hip = false;     ///< Warps may have 64 threads, and what they do together takes masks of 64 bits.
  bool on_cpu = false;  ///< The CPU device runs the candidates: registers and occupancy are nothing to it.

  static RuleContext of(const Mep& mep);
  /// Whether nothing else that is named there was made from what the pointer was made from, and that is the kernel's,
  /// of memory that nothing else was seen to lead to.
  bool alone(const KernelSource& source, const clang::VarDecl* pointer, const clang::Stmt* within) const;
  /// A condition that all recorded launches fulfil.
  Premise premise(std::string text) const;
  /// The premise that none of these arrays overlaps another array.
  Premise no_overlap(const std::set<std::string>& arrays) const;
};

struct Opportunity {
  std::string place;  ///< "loop at line 12 over k".
  Bindings values;    ///< The rule's parameters.
  std::vector<TextEdit> edits;
  std::string summary = {};               ///< The values in words ("by 4"); empty: names and numbers are clear enough.
  std::vector<Premise> premises = {};     ///< Conditions under which the edits are correct.
  std::vector<std::string> effects = {};  ///< See Step::effects.
  struct Scale {
    int64_t multiply = 1, divide = 1;
  };
  Scale grid[3];  ///< How many blocks there are along each axis then, rounded up.
};

struct RuleParameter {
  std::string name;
  std::vector<int64_t> values;
};

struct Rule {
  const char* name;
  const char* summary;  ///< What it does, for notes and for people.
  const char* expects;  ///< Its preconditions.
  std::vector<RuleParameter> parameters;
  std::vector<Opportunity> (*find)(const KernelSource&, const RuleContext&, const Bindings& values);
  std::vector<Bound> helps = {};  ///< Kernels bound so profit most; empty: all alike.
};

/// Every opportunity of the rule for every choice of its parameters.
std::vector<Opportunity> opportunities(const Rule& rule, const KernelSource& source, const RuleContext& facts);

/// The rules, likeliest to help first. Each is in NAME.cpp.
extern const Rule kScalarPromotion, kRestrictPointers, kUnroll, kBlockCoarsening, kFloatLiterals, kPadShared,
    kLaunchBounds, kReciprocal, kDoubleToFloat, kUnrollAndJam, kWarpReduction, kWarpAggregation, kSharedPrivatisation,
    kBlockMerging, kSwapBlockAxes, kModuloToCompare, kFastMath, kConstantToGlobal;
const std::vector<const Rule*>& all_rules();

}  // namespace kernelift
