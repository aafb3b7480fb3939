// Values that are read as they are, since bits are lost where they are computed: scalar evolution looks through most of
// a computation, as if it had as many bits as it takes.
#pragma once

namespace llvm {
class Function;
class Instruction;
class Value;
}  // namespace llvm

namespace kernelift {

/// Puts a freeze behind products that are meant to wrap around, as those that spread bits (a hash); behind products of
/// 64 bits of what is in memory that are compared or divided; behind what takes some bits of a wider value in memory,
/// and unsigned quotients of one. Of parameters and positions it is asked instead whether they fit (number_width.h).
void keep_values(llvm::Function& kernel);

/// A freeze that keep_values() put behind it is its only user.
bool is_kept(const llvm::Instruction& instruction);

/// That many bits are known to hold it, with its sign.
bool is_known_to_fit(const llvm::Value& value, unsigned bits);

}  // namespace kernelift
