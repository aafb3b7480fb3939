// See source_line.h.
#include "core/compiler/model/source_line.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>

namespace kernelift {

unsigned line_of(const llvm::Instruction& instruction) {
  const llvm::DILocation* place = instruction.getDebugLoc().get();
  while (place && place->getInlinedAt()) place = place->getInlinedAt();
  return place ? place->getLine() : 0;
}

}  // namespace kernelift
