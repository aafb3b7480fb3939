// The strategies by which a kernel's text becomes faster. Each has an island of its own in a population, so that a good
// text of one does not end the search among the others.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "core/model/candidate/candidate.h"

namespace kernelift::tuner {

enum class Family {
  Memory,       ///< Which data are loaded and stored, from where, how often, how wide.
  Parallelism,  ///< How work is distributed over threads, warps and blocks.
  Arithmetic,   ///< Cheaper instructions for the same values.
  Structure,    ///< Loops, control flow and all else.
};
inline constexpr std::array kFamilies{Family::Memory, Family::Parallelism, Family::Arithmetic, Family::Structure};

const char* name(Family family);  ///< "memory", "parallelism", "arithmetic", "structure".
/// nullopt: there is none of that name.
std::optional<Family> family_from_name(std::string_view name);

/// nullopt: no such rule is known.
std::optional<Family> family_of_rule(std::string_view rule);

/// The family of an idea in words, by what it speaks of.
Family family_of_words(std::string_view idea);

/// The family of the candidate's last step that has one: knobs and recipes have none. nullopt: no step has.
std::optional<Family> family_of(const Candidate& candidate);

}  // namespace kernelift::tuner
