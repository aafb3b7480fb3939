// The table of PTX instructions, guards, and access to operands. A guarded statement becomes a branch around it, behind
// which the registers that it writes are merged with their earlier values.
#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>

namespace kernelift::cpu {

using namespace llvm;

const PtxStatement* PtxTranslator::run() {
  for (const PtxStatement& statement : text_.statements)
    if (!translate(statement)) return &statement;
  return nullptr;
}

bool PtxTranslator::translate(const PtxStatement& statement) {
  if (statement.guard.empty()) return emit(statement);
  Value* guard = operands_.read(builder_, statement.guard, builder_.getInt1Ty());
  if (!guard) return false;
  if (statement.negated) guard = builder_.CreateNot(guard);
  const std::map<std::string, Value*> before = operands_.registers();
  BasicBlock* skipped = builder_.GetInsertBlock();
  Instruction* then = SplitBlockAndInsertIfThen(guard, &call_, false);
  builder_.SetInsertPoint(then);
  if (!emit(statement)) return false;
  BasicBlock* taken = builder_.GetInsertBlock();
  builder_.SetInsertPoint(&call_);
  for (auto& [name, value] : operands_.registers()) {
    auto old = before.find(name);
    if (old != before.end() && old->second == value) continue;
    IRBuilder<> at_start(call_.getParent(), call_.getParent()->begin());
    PHINode* merged = at_start.CreatePHI(value->getType(), 2);
    merged->addIncoming(value, taken);
    Value* kept = old != before.end() && old->second->getType() == value->getType()
                      ? old->second
                      : PoisonValue::get(value->getType());
    merged->addIncoming(kept, skipped);
    value = merged;
  }
  return true;
}

Value* PtxTranslator::in(size_t index, Type* as) {
  return index < now_->operands.size() ? operands_.read(builder_, now_->operands[index], as) : nullptr;
}
bool PtxTranslator::out(Value* value, bool with_sign) {
  return value && !now_->operands.empty() && operands_.write(builder_, now_->operands[0], value, with_sign);
}

Value* PtxTranslator::call(const std::string& name, Type* result, ArrayRef<Value*> arguments) {
  SmallVector<Type*, 6> types;
  for (Value* argument : arguments) {
    if (!argument) return nullptr;
    types.push_back(argument->getType());
  }
  auto* type = FunctionType::get(result, types, false);
  Module& module = *call_.getModule();
  if (Function* known = module.getFunction(name); known && known->getFunctionType() != type) return nullptr;
  return builder_.CreateCall(module.getOrInsertFunction(name, type), arguments);
}

std::string PtxTranslator::rounding() {
  for (const char* mode : {"rn", "rz", "rm", "rp"})
    if (now_->has(mode)) return mode;
  return "";
}

bool PtxTranslator::emit(const PtxStatement& statement) {
  using T = PtxTranslator;
  // clang-format off
  static const std::map<std::string, bool (T::*)()> kTable = {
      {"mov", &T::move},            {"selp", &T::select},         {"setp", &T::compare},       {"cvt", &T::convert},
      {"add", &T::arithmetic},      {"sub", &T::arithmetic},      {"mul", &T::arithmetic},     {"div", &T::arithmetic},
      {"rem", &T::arithmetic},      {"min", &T::arithmetic},      {"max", &T::arithmetic},     {"mad", &T::multiply_add},
      {"fma", &T::multiply_add},    {"and", &T::logic},           {"or", &T::logic},           {"xor", &T::logic},
      {"shl", &T::logic},           {"shr", &T::logic},           {"not", &T::unary},          {"neg", &T::unary},
      {"abs", &T::unary},           {"popc", &T::bits},           {"clz", &T::bits},           {"brev", &T::bits},
      {"bmsk", &T::bit_mask},       {"bfe", &T::library},         {"bfi", &T::library},        {"prmt", &T::library},
      {"lop3", &T::library},        {"sad", &T::library},         {"shf", &T::funnel},         {"dp4a", &T::dot},
      {"ex2", &T::approximate},     {"lg2", &T::approximate},     {"sin", &T::approximate},    {"cos", &T::approximate},
      {"tanh", &T::approximate},    {"rcp", &T::approximate},     {"sqrt", &T::approximate},   {"rsqrt", &T::approximate},
      {"copysign", &T::copy_sign},
      {"cvta", &T::to_address},     {"ld", &T::load},             {"ldu", &T::load},           {"st", &T::store},
      {"atom", &T::atomic},         {"red", &T::atomic},          {"cp", &T::copy},
      {"bar", &T::barrier},         {"barrier", &T::barrier},     {"membar", &T::fence},       {"fence", &T::fence},
      {"tex", &T::fetch},           {"tld4", &T::gather},         {"suld", &T::surface_load},  {"sust", &T::surface_store},
      {"shfl", &T::shuffle},        {"vote", &T::vote},           {"activemask", &T::vote},    {"redux", &T::reduce},
      {"match", &T::match},         {"trap", &T::end},            {"exit", &T::end},           {"nanosleep", &T::sleep},
      {"brkpt", &T::nothing},       {"prefetch", &T::nothing},    {"prefetchu", &T::nothing},  {"discard", &T::nothing},
      {"applypriority", &T::nothing}, {"griddepcontrol", &T::nothing},
  };
  // clang-format on
  now_ = &statement;
  auto rule = kTable.find(statement.opcode[0]);
  return rule != kTable.end() && (this->*rule->second)();
}

}  // namespace kernelift::cpu
