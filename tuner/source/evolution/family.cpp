// See family.h.
#include "tuner/source/evolution/family.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace kernelift::tuner {
namespace {

struct RuleFamily {
  std::string_view rule;
  Family family;
};
constexpr RuleFamily kRules[] = {
    {"scalar_promotion", Family::Memory},
    {"shared_tiling", Family::Memory},
    {"restrict_pointers", Family::Memory},
    {"pad_shared", Family::Memory},
    {"constant_to_global", Family::Memory},
    {"static_table", Family::Memory},
    {"shared_privatisation", Family::Memory},
    {"loop_to_grid", Family::Parallelism},
    {"loop_to_threads", Family::Parallelism},
    {"block_reduction", Family::Parallelism},
    {"warp_reduction", Family::Parallelism},
    {"warp_aggregation", Family::Parallelism},
    {"block_merging", Family::Parallelism},
    {"block_coarsening", Family::Parallelism},
    {"swap_block_axes", Family::Parallelism},
    {"launch_bounds", Family::Parallelism},
    {"float_literals", Family::Arithmetic},
    {"reciprocal", Family::Arithmetic},
    {"modulo_to_compare", Family::Arithmetic},
    {"narrow_division", Family::Arithmetic},
    {"fast_math", Family::Arithmetic},
    {"double_to_float", Family::Arithmetic},
    {"unroll", Family::Structure},
    {"unroll_and_jam", Family::Structure},
    {"stencil_register_tiling", Family::Memory},
    {"stencil_shared_tiling", Family::Memory},
    {"sliding_window", Family::Memory},
    {"vectorised_accesses", Family::Memory},
    {"split_k", Family::Parallelism},
    {"thread_to_warp", Family::Parallelism},
    {"grid_stride", Family::Parallelism},
    {"register_privatisation", Family::Memory},
    {"multiple_accumulators", Family::Structure},
    {"streaming_accesses", Family::Memory},
    {"thread_coarsening", Family::Parallelism},
};

struct Words {
  Family family;
  std::string_view words[12];
};
/// Beginnings of words in small letters.
constexpr Words kWords[] = {
    {Family::Memory,
     {"shared", "coalesc", "cache", "vector", "float4", "float2", "prefetch", "memory", "load", "__ldg", "tile",
      "bank"}},
    {Family::Parallelism,
     {"thread", "block", "warp", "grid", "occupancy", "parallel", "reduc", "atomic", "shuffle", "launch", "coarsen",
      "split"}},
    {Family::Arithmetic,
     {"rsqrt", "reciprocal", "precision", "fma", "intrinsic", "divi", "arithmetic", "math", "multipl", "modulo",
      "literal", "__f"}},
};

}  // namespace

const char* name(Family family) {
  const char* const names[] = {"memory", "parallelism", "arithmetic", "structure"};
  return names[static_cast<size_t>(family)];
}

std::optional<Family> family_from_name(std::string_view wanted) {
  for (Family family : kFamilies)
    if (wanted == name(family)) return family;
  return std::nullopt;
}

std::optional<Family> family_of_rule(std::string_view rule) {
  auto found = std::ranges::find(kRules, rule, &RuleFamily::rule);
  return found == std::end(kRules) ? std::nullopt : std::optional(found->family);
}

Family family_of_words(std::string_view idea) {
  std::string small(idea);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  Family likeliest = Family::Structure;
  size_t most = 0;
  for (auto& [family, words] : kWords) {
    const auto spoken_of = static_cast<size_t>(
        std::ranges::count_if(words, [&](auto word) { return !word.empty() && small.find(word) != small.npos; }));
    if (spoken_of > most) most = spoken_of, likeliest = family;
  }
  return likeliest;
}

std::optional<Family> family_of(const Candidate& candidate) {
  for (auto step = candidate.steps.rbegin(); step != candidate.steps.rend(); ++step) {
    if (step->origin == Step::Origin::Rule)
      if (auto family = family_of_rule(step->rule)) return family;
    if (step->origin == Step::Origin::Model) return family_of_words(step->summary);
  }
  return std::nullopt;
}

}  // namespace kernelift::tuner
