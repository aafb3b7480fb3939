// An LLVM pass pipeline for searching: a flat list of passes, each with the nesting level that it needs, printed in the
// syntax of `opt -passes=`. Adjacent passes of one level share an adaptor. Only curated passes are used: they preserve
// semantics, need no profile or other file, and are not known to crash on device code.
#pragma once
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace kernelift::tuner {

enum class PassLevel { Module, Cgscc, Function, Loop, LoopMemory };  ///< LoopMemory: loop-mssa(…).

struct Pass {
  std::string name;
  PassLevel level = PassLevel::Function;
  bool operator==(const Pass&) const = default;
};

using PassPipeline = std::vector<Pass>;

const std::vector<Pass>& curated_passes();
/// LLVM's own pipelines, alone and followed by passes that help device code with much address arithmetic.
std::vector<PassPipeline> seed_pipelines();

std::string text(const PassPipeline& pipeline);
PassPipeline mutate(PassPipeline pipeline, Random& random);
/// A prefix of `head` followed by a suffix of `tail`.
PassPipeline cross(const PassPipeline& head, const PassPipeline& tail, Random& random);

}  // namespace kernelift::tuner
