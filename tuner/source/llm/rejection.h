// What a model is told of a candidate of its own that failed, so that it can repair it.
#pragma once
#include <string>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::tuner {

/// How often a model may try to repair a candidate that failed so: `most` times what a compiler refuses, once what ran
/// and was wrong, and never what is the machine's fault or was no honest attempt.
int repairs_allowed(const Verdict& verdict, int most);

/// Threads of the candidate's block along x on the instance that the verdict blames; 0: not known.
uint64_t threads_along_x(const Candidate& candidate, const Verdict& verdict, const Mep& mep);

/// The failure in words: where, and of a wrong result the first differing element, what was expected and what came, and
/// what these let suspect. `block`: threads of the candidate's block along x; 0: not known.
std::string rejection(const Verdict& verdict, const Mep& mep, uint64_t block);

}  // namespace kernelift::tuner
