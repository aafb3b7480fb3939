// Field code of one function: field_code.h. Every float has a number beside it (one i64 for each element of a vector);
// integers that carry the bits of floats (carried_bits.h) have the state of each of their 32-bit words beside them.
//   function_field.cpp  numbers, and the instructions that compute them
//   field_accesses.cpp  loads, stores, copies, atomic operations
//   field_carriers.cpp  instructions on carried bits
//   field_calls.cpp     intrinsics, the device library, calls
#pragma once
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IntrinsicInst.h>

#include <set>

#include "sandbox/device/cpu/lower/field/carried_bits.h"
#include "sandbox/device/cpu/lower/field/field_arithmetic.h"
#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

class FunctionField {
 public:
  FunctionField(DeviceModule& device, llvm::Function& function, NumberKind numbers);
  void insert();

 private:
  using Numbers = llvm::SmallVector<llvm::Value*, 4>;  ///< One for each element, or for each word.

  Numbers numbers(llvm::Value* value);
  llvm::Value* number(llvm::Value* value) { return numbers(value).front(); }
  /// Element `index` of a float or a vector of floats, with its number.
  Numbered numbered(llvm::Value* value, unsigned index) { return {numbers(value)[index], element(value, index)}; }
  llvm::Value* number_of(llvm::Constant* constant);
  Numbers numbers_by_bits(llvm::Value* value);
  llvm::Value* constants_meant();
  llvm::Value* element(llvm::Value* value, unsigned index);

  llvm::Constant* text(llvm::StringRef words);
  llvm::Value* site(const llvm::Instruction* at, llvm::StringRef what);
  void decide(const llvm::Instruction& at, llvm::StringRef what);
  void before(llvm::Instruction& at) { builder_.SetInsertPoint(&at); }
  void after(llvm::Instruction& at);

  void take_argument(llvm::Argument& argument);
  void visit(llvm::Instruction& at);
  Numbers arithmetic(llvm::Instruction& at);
  Numbers inserted(llvm::Instruction& at);
  llvm::Value* chosen(const Numbers& from, llvm::Value* index);
  Numbers shuffled(llvm::ShuffleVectorInst& at, const Numbers& first, const Numbers& second, unsigned parts);
  llvm::Value* divide(Numbered a, Numbered b, llvm::Value* result);
  /// A function of which nothing is known, of one or two numbers (`b` null), or a root.
  llvm::Value* apply(llvm::StringRef function, Numbered a, llvm::Value* b, llvm::Value* result,
                     const llvm::Instruction& at);
  void visit_phi(llvm::PHINode& phi);
  void complete(llvm::PHINode& phi, const Numbers& made);

  // field_accesses.cpp
  void visit_load(llvm::LoadInst& load);
  void visit_store(llvm::StoreInst& store);
  void visit_change(llvm::AtomicRMWInst& change);
  void visit_exchange(llvm::AtomicCmpXchgInst& exchange);
  void visit_memory(llvm::MemIntrinsic& copy);
  bool holds_no_states(llvm::Value* pointer) const;
  llvm::Value* at_offset(llvm::Value* pointer, unsigned bytes);
  Numbers load_numbers(llvm::Value* pointer, llvm::Type* type, const llvm::Instruction& at);
  void store_numbers(llvm::Value* pointer, llvm::Type* type, const Numbers& stored, const llvm::Instruction& at);
  Numbers load_states(llvm::Value* pointer, unsigned words, const llvm::Instruction& at);
  void store_states(llvm::Value* pointer, const Numbers& stored, const llvm::Instruction& at);
  void touch(llvm::Value* pointer, llvm::Value* bytes, bool wrote, const llvm::Instruction& at);
  void touch(llvm::Value* pointer, llvm::Type* type, bool wrote, const llvm::Instruction& at);

  // field_carriers.cpp
  /// The states of an integer's words. EXPECTS: it has whole ones.
  Numbers states(llvm::Value* value);
  Numbers states_of_numbers(llvm::Value* value);
  Numbers numbers_of_states(const Numbers& states, llvm::Value* value);
  Numbers carried(llvm::Instruction& at);
  Numbers moved(llvm::Instruction& at);
  Numbers joined(llvm::Instruction& at);
  Numbers resized(llvm::Instruction& at);
  Numbers exchanged_between_lanes(llvm::CallBase& at);

  // field_calls.cpp
  void visit_call(llvm::CallBase& call);
  bool visit_intrinsic(llvm::IntrinsicInst& call);
  bool visit_library(llvm::CallBase& call, const llvm::Function& callee);
  void take_from_bits(llvm::CallBase& call, llvm::StringRef what);
  /// Of two numbers the one whose float is `wanted`; of equal floats one that does not depend on their order.
  llvm::Value* picked(llvm::Value* wanted, llvm::Value* a, llvm::Value* b, llvm::Value* of_a, llvm::Value* of_b);

  DeviceModule& device_;
  llvm::Module& module_;
  llvm::Function& function_;
  llvm::Value* thread_;
  const CarriedBits bits_;
  llvm::IRBuilder<> builder_;
  FieldArithmetic field_;
  const Kernel* kernel_ = nullptr;
  llvm::DenseMap<const llvm::Value*, Numbers> numbers_;    ///< Of floats; of carried bits the states of their words.
  llvm::DenseMap<const llvm::Value*, Numbers> exchanged_;  ///< States that a compare-and-exchange met.
  llvm::SmallVector<std::pair<llvm::PHINode*, Numbers>, 8> phis_;
  llvm::StringMap<llvm::Constant*> texts_;
  std::set<uint64_t> doubtful_;  ///< Constants that may stand for more than one number.
  llvm::CallInst* meant_call_ = nullptr;
  llvm::Value* meant_ = nullptr;
};

/// Types of which values have numbers: float, double, and vectors of them.
bool has_numbers(const llvm::Type* type);
unsigned elements_of(const llvm::Type* type);
/// Of an element.
unsigned bytes_of(const llvm::Type* type);
/// Floats of any kind, half precision too.
bool holds_floats(const llvm::Type* type);

inline constexpr const char* kToInteger = "the conversion to an integer";
inline constexpr const char* kBitsUsed = "the bits of a float, used as an integer,";

}  // namespace kernelift::cpu
