// A kernel and its candidate as they would be if the application gave another value to one of the constants that they
// or their launches use: the question what a patch does once its user edits `#define BLOCK 128`.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"

namespace kernelift::tuner {

struct OtherConstant {
  std::string name;
  int64_t value = 0;
  Mep mep;               ///< With that value, and recorded blocks as the launches compute them from it.
  std::string original;  ///< kernel.cu.
  Candidate candidate;
};

struct OtherConstants {
  std::vector<OtherConstant> values;  ///< A few for each constant.
  std::set<std::string> not_made;     ///< Constants that one of the texts does not spell as one number.
};

/// Of the constants that keep their values in the candidate. Without a template's arguments: each value of these is a
/// kernel of its own. Nothing for a candidate with the original's text.
OtherConstants other_constants(const Mep& mep, const std::string& original, const Candidate& candidate);

/// Whether blocks or grids are computed from the constant.
bool shapes_launches(const Mep& mep, const std::string& name);

}  // namespace kernelift::tuner
