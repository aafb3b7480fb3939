// An LLVM pass pipeline as search material: a flat list of passes, each with the nesting level it needs, printed as the
// text that `opt -passes=` takes. Neighbours of one level share an adaptor. Only curated passes are used: those that
// keep meaning, need no profile or side file, and are not known to crash on device code.
#pragma once
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace kernelift {

enum class PassLevel { Module, Cgscc, Function, Loop, LoopMemory };  ///< LoopMemory: loop-mssa(…).

struct Pass {
  std::string name;
  PassLevel level = PassLevel::Function;
  bool operator==(const Pass&) const = default;
};

using PassPipeline = std::vector<Pass>;

const std::vector<Pass>& curated_passes();
/// LLVM's own pipelines, alone and followed by what helps address-heavy device code.
std::vector<PassPipeline> seed_pipelines();

std::string text(const PassPipeline& pipeline);
PassPipeline mutate(PassPipeline pipeline, Random& random);
/// A head of one and a tail of the other.
PassPipeline cross(const PassPipeline& head, const PassPipeline& tail, Random& random);

}  // namespace kernelift
