// The translator: a table of PTX instructions, each a few lines of IR. Instructions that synchronise or that LLVM has
// intrinsics for become calls of the same nvvm.* functions that compiled CUDA uses, so they mean the same. A guarded
// statement becomes a branch around it. Loops and calls in assembly are refused. Shifts, divisions and conversions are
// LLVM's plain ones, to be defined as PTX does afterwards with all others (undefined_arithmetic.cpp).
#include "sandbox/device/cpu/lower/ptx/ptx_assembly.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <set>

#include "sandbox/device/cpu/lower/intrinsics.h"
#include "sandbox/device/cpu/lower/ptx/ptx_operands.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

class Translator {
 public:
  Translator(CallInst& call, const PtxText& text) : call_(call), text_(text), operands_(call, text), builder_(&call) {}

  /// The first statement that is not supported; nullptr if all are.
  const PtxStatement* run() {
    for (const PtxStatement& statement : text_.statements)
      if (!translate(statement)) return &statement;
    return nullptr;
  }
  /// What is wrong with that statement, if there is more to say than that it is not known.
  const std::string& problem() const { return operands_.problem(); }
  /// The call's value, once all are translated; nullptr for a call without one.
  Value* result() { return operands_.result(builder_); }

 private:
  bool translate(const PtxStatement& statement) {
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

  // One statement at a time is current; these read it.
  Type* type(const std::string& suffix) { return ptx_type(call_.getContext(), suffix); }
  Type* type() { return type(now_->type()); }
  Value* in(size_t index, Type* as) {
    return index < now_->operands.size() ? operands_.read(builder_, now_->operands[index], as) : nullptr;
  }
  bool out(Value* value, bool with_sign = false) {
    return value && !now_->operands.empty() && operands_.write(builder_, now_->operands[0], value, with_sign);
  }
  bool is_signed() { return now_->type()[0] == 's'; }
  bool floating() { return type()->isFPOrFPVectorTy(); }
  bool integral() { return type() && type()->isIntegerTy(); }
  bool takes(size_t count) { return now_->operands.size() == count; }

  Value* call(const std::string& name, Type* result, ArrayRef<Value*> arguments) {
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

  /// rn, rz, rm, rp among the opcode's parts; "" if none is named.
  std::string rounding() {
    for (const char* mode : {"rn", "rz", "rm", "rp"})
      if (now_->has(mode)) return mode;
    return "";
  }

  bool emit(const PtxStatement& statement) {
    now_ = &statement;
    const std::string& op = statement.opcode[0];
    // clang-format off
    static const std::map<std::string, bool (Translator::*)()> kTable = {
        {"mov", &Translator::move},         {"add", &Translator::arithmetic}, {"sub", &Translator::arithmetic},
        {"mul", &Translator::arithmetic},   {"mad", &Translator::multiply_add}, {"fma", &Translator::multiply_add},
        {"div", &Translator::arithmetic},   {"rem", &Translator::arithmetic}, {"min", &Translator::arithmetic},
        {"max", &Translator::arithmetic},   {"and", &Translator::logic},      {"or", &Translator::logic},
        {"xor", &Translator::logic},        {"shl", &Translator::logic},      {"shr", &Translator::logic},
        {"not", &Translator::unary},        {"neg", &Translator::unary},      {"abs", &Translator::unary},
        {"popc", &Translator::bits},        {"clz", &Translator::bits},       {"brev", &Translator::bits},
        {"bmsk", &Translator::bit_mask},
        {"bfe", &Translator::library},      {"bfi", &Translator::library},    {"prmt", &Translator::library},
        {"lop3", &Translator::library},     {"sad", &Translator::library},    {"shf", &Translator::funnel},
        {"dp4a", &Translator::dot},         {"setp", &Translator::compare},   {"selp", &Translator::select},
        {"cvt", &Translator::convert},      {"cvta", &Translator::to_address}, {"ld", &Translator::load},
        {"ldu", &Translator::load},         {"st", &Translator::store},       {"atom", &Translator::atomic},
        {"red", &Translator::atomic},       {"bar", &Translator::barrier},    {"barrier", &Translator::barrier},
        {"membar", &Translator::fence},     {"fence", &Translator::fence},    {"shfl", &Translator::shuffle},
        {"vote", &Translator::vote},        {"activemask", &Translator::vote}, {"redux", &Translator::reduce},
        {"match", &Translator::match},      {"ex2", &Translator::approximate}, {"lg2", &Translator::approximate},
        {"sin", &Translator::approximate},  {"cos", &Translator::approximate}, {"tanh", &Translator::approximate},
        {"rcp", &Translator::approximate},  {"sqrt", &Translator::approximate}, {"rsqrt", &Translator::approximate},
        {"copysign", &Translator::copy_sign}, {"trap", &Translator::end},     {"exit", &Translator::end},
        {"brkpt", &Translator::nothing},    {"nanosleep", &Translator::sleep}, {"prefetch", &Translator::nothing},
        {"prefetchu", &Translator::nothing}, {"discard", &Translator::nothing}, {"applypriority", &Translator::nothing},
        {"griddepcontrol", &Translator::nothing}, {"cp", &Translator::copy},
    };
    // clang-format on
    auto rule = kTable.find(op);
    return rule != kTable.end() && (this->*rule->second)();
  }

  bool nothing() { return true; }
  bool move() { return takes(2) && type() && out(in(1, type())); }

  bool arithmetic() {
    if (!takes(3) || !type() || !now_->plain() || (now_->has("sat") && !type()->isFloatTy())) return false;
    const std::string& op = now_->opcode[0];
    if (op == "mul" && !floating()) return out(product(now_->has("wide"), now_->has("hi")));
    Value *a = in(1, type()), *b = in(2, type());
    if (!a || !b) return false;
    Value* value = floating() ? float_arithmetic(op, a, b) : integer_arithmetic(op, a, b);
    if (value && now_->has("sat")) value = call("__nv_saturatef", type(), {value});
    return out(value);
  }

  Value* float_arithmetic(const std::string& op, Value* a, Value* b) {
    if (op == "min")
      return builder_.CreateBinaryIntrinsic(now_->has("NaN") ? Intrinsic::minimum : Intrinsic::minimumnum, a, b);
    if (op == "max")
      return builder_.CreateBinaryIntrinsic(now_->has("NaN") ? Intrinsic::maximum : Intrinsic::maximumnum, a, b);
    const std::string mode = rounding();
    if (!mode.empty() && mode != "rn") {
      if (!type()->isFloatTy() && !type()->isDoubleTy()) return nullptr;
      if (op == "sub") return call("nvvm.add." + mode + suffix(), type(), {a, builder_.CreateFNeg(b)});
      return call("nvvm." + op + "." + mode + suffix(), type(), {a, b});
    }
    if (op == "add") return builder_.CreateFAdd(a, b);
    if (op == "sub") return builder_.CreateFSub(a, b);
    if (op == "mul") return builder_.CreateFMul(a, b);
    return op == "div" ? builder_.CreateFDiv(a, b) : nullptr;
  }
  std::string suffix() { return type()->isDoubleTy() ? ".d" : ".f"; }

  Value* integer_arithmetic(const std::string& op, Value* a, Value* b) {
    if (op == "add") return builder_.CreateAdd(a, b);
    if (op == "sub") return builder_.CreateSub(a, b);
    if (op == "div") return is_signed() ? builder_.CreateSDiv(a, b) : builder_.CreateUDiv(a, b);
    if (op == "rem") return is_signed() ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
    const bool smaller = op == "min";
    return builder_.CreateBinaryIntrinsic(is_signed() ? smaller ? Intrinsic::smin : Intrinsic::smax
                                          : smaller   ? Intrinsic::umin
                                                      : Intrinsic::umax,
                                          a, b);
  }

  Value* product(bool wide, bool high) {
    Value *a = in(1, type()), *b = in(2, type());
    if (!a || !b) return nullptr;
    if (!wide && !high) return builder_.CreateMul(a, b);
    Type* twice = builder_.getIntNTy(2 * type()->getIntegerBitWidth());
    auto widen = [&](Value* v) { return is_signed() ? builder_.CreateSExt(v, twice) : builder_.CreateZExt(v, twice); };
    Value* whole = builder_.CreateMul(widen(a), widen(b));
    return wide ? whole : builder_.CreateTrunc(builder_.CreateLShr(whole, type()->getIntegerBitWidth()), type());
  }

  bool multiply_add() {
    if (!takes(4) || !type() || !now_->plain() || now_->has("sat")) return false;
    if (!floating()) {
      Value* whole = product(now_->has("wide"), now_->has("hi"));
      Value* addend = whole ? in(3, whole->getType()) : nullptr;
      return addend && out(builder_.CreateAdd(whole, addend));
    }
    Value *a = in(1, type()), *b = in(2, type()), *c = in(3, type());
    if (!a || !b || !c) return false;
    const std::string mode = rounding();
    if (!mode.empty() && mode != "rn")
      return (type()->isFloatTy() || type()->isDoubleTy()) &&
             out(call("nvvm.fma." + mode + suffix(), type(), {a, b, c}));
    return out(builder_.CreateIntrinsic(type(), Intrinsic::fma, {a, b, c}));
  }

  bool logic() {
    if (!takes(3) || !integral() || !now_->plain()) return false;
    const std::string& op = now_->opcode[0];
    Value* a = in(1, type());
    const bool shift = op == "shl" || op == "shr";
    Value* b = shift ? in(2, builder_.getInt32Ty()) : in(2, type());
    if (!a || !b) return false;
    if (op == "and") return out(builder_.CreateAnd(a, b));
    if (op == "or") return out(builder_.CreateOr(a, b));
    if (op == "xor") return out(builder_.CreateXor(a, b));
    b = builder_.CreateBinaryIntrinsic(Intrinsic::umin, b, builder_.getInt32(type()->getIntegerBitWidth()));
    b = builder_.CreateZExtOrTrunc(b, type());
    return out(op == "shl"   ? builder_.CreateShl(a, b)
               : is_signed() ? builder_.CreateAShr(a, b)
                             : builder_.CreateLShr(a, b));
  }

  bool unary() {
    if (!takes(2) || !type() || !now_->plain()) return false;
    Value* a = in(1, type());
    if (!a) return false;
    const std::string& op = now_->opcode[0];
    if (op == "not") return integral() && out(builder_.CreateNot(a));
    if (op == "neg") return out(floating() ? builder_.CreateFNeg(a) : builder_.CreateNeg(a));
    return out(floating() ? builder_.CreateUnaryIntrinsic(Intrinsic::fabs, a)
                          : builder_.CreateBinaryIntrinsic(Intrinsic::abs, a, builder_.getFalse()));
  }

  bool bits() {
    if (!takes(2) || !integral()) return false;
    Value* a = in(1, type());
    if (!a) return false;
    const std::string& op = now_->opcode[0];
    if (op == "brev") return out(builder_.CreateUnaryIntrinsic(Intrinsic::bitreverse, a));
    Value* count = op == "popc" ? builder_.CreateUnaryIntrinsic(Intrinsic::ctpop, a)
                                : builder_.CreateBinaryIntrinsic(Intrinsic::ctlz, a, builder_.getFalse());
    return out(builder_.CreateZExtOrTrunc(count, builder_.getInt32Ty()));
  }

  /// As many ones as operand 2 says, from the bit that operand 1 says.
  bool bit_mask() {
    if (!takes(3)) return false;
    Value *from = in(1, builder_.getInt32Ty()), *count = in(2, builder_.getInt32Ty());
    if (!from || !count) return false;
    auto bounded = [&](Value* v) {
      v = now_->has("wrap") ? builder_.CreateAnd(v, 31)
                            : builder_.CreateBinaryIntrinsic(Intrinsic::umin, v, builder_.getInt32(32));
      return builder_.CreateZExt(v, builder_.getInt64Ty());
    };
    Value* ones = builder_.CreateSub(builder_.CreateShl(builder_.getInt64(1), bounded(count)), builder_.getInt64(1));
    return out(builder_.CreateTrunc(builder_.CreateShl(ones, bounded(from)), builder_.getInt32Ty()));
  }

  /// Instructions the device library has under their PTX name.
  bool library() {
    const std::string& op = now_->opcode[0];
    Type* word = builder_.getInt32Ty();
    if (op == "prmt")
      return takes(4) && now_->opcode.size() == 2 &&
             out(call("__nvvm_prmt", word, {in(1, word), in(2, word), in(3, word)}));
    if (op == "lop3")
      return takes(5) && out(call("__nvvm_lop3", word, {in(1, word), in(2, word), in(3, word), in(4, word)}));
    if (op == "sad")
      return takes(4) && integral() && type()->isIntegerTy(32) &&
             out(call(is_signed() ? "__nv_sad" : "__nv_usad", word, {in(1, word), in(2, word), in(3, word)}));
    static const std::set<std::string> kTypes = {"bfe.u32", "bfe.s32", "bfe.u64", "bfi.b32", "bfi.b64"};
    if (!kTypes.contains(op + "." + now_->type())) return false;
    const std::string name = "__nvvm_" + op + "_" + now_->type();
    if (op == "bfe") return takes(4) && out(call(name, type(), {in(1, type()), in(2, word), in(3, word)}));
    return takes(5) && out(call(name, type(), {in(1, type()), in(2, type()), in(3, word), in(4, word)}));
  }

  bool funnel() {
    Type* word = builder_.getInt32Ty();
    Value *low = in(1, word), *high = in(2, word), *by = in(3, word);
    if (!takes(4) || !low || !high || !by) return false;
    const bool left = now_->has("l");
    if (now_->has("wrap"))
      return out(builder_.CreateIntrinsic(word, left ? Intrinsic::fshl : Intrinsic::fshr, {high, low, by}));
    return out(call(left ? "__nvvm_fshl_clamp_i32" : "__nvvm_fshr_clamp_i32", word, {high, low, by}));
  }

  bool dot() {
    Type* word = builder_.getInt32Ty();
    if (!takes(4) || now_->opcode.size() != 3) return false;
    const std::string name = std::string("__nvvm_idp4a_") + now_->opcode[1][0] + "_" + now_->opcode[2][0];
    return out(call(name, word, {in(1, word), in(2, word), in(3, word)}));
  }

  Value* comparison(const std::string& how, Value* a, Value* b) {
    // clang-format off
    static const std::map<std::string, std::array<CmpInst::Predicate, 3>> kHow = {
        {"eq", {CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ}}, {"ne", {CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE}},
        {"lt", {CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT}}, {"le", {CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE}},
        {"gt", {CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT}}, {"ge", {CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE}},
        {"lo", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT}}, {"ls", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE}},
        {"hi", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT}}, {"hs", {CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE}},
        {"equ", {CmpInst::FCMP_UEQ}}, {"neu", {CmpInst::FCMP_UNE}}, {"ltu", {CmpInst::FCMP_ULT}}, {"leu", {CmpInst::FCMP_ULE}},
        {"gtu", {CmpInst::FCMP_UGT}}, {"geu", {CmpInst::FCMP_UGE}}, {"num", {CmpInst::FCMP_ORD}}, {"nan", {CmpInst::FCMP_UNO}}};
    // clang-format on
    auto known = kHow.find(how);
    if (known == kHow.end()) return nullptr;
    const CmpInst::Predicate predicate = known->second[floating() ? 0 : is_signed() ? 1 : 2];
    if (floating() ? !CmpInst::isFPPredicate(predicate) || predicate == CmpInst::BAD_FCMP_PREDICATE
                   : !CmpInst::isIntPredicate(predicate))
      return nullptr;
    return builder_.CreateCmp(predicate, a, b);
  }

  bool compare() {
    if (!takes(3) || now_->opcode.size() < 3 || !type() || type()->isVectorTy() ||
        StringRef(now_->operands[0]).contains('|'))
      return false;
    for (const char* combined : {"and", "or", "xor"})
      if (now_->has(combined)) return false;
    Value *a = in(1, type()), *b = in(2, type());
    return a && b && out(comparison(now_->opcode[1], a, b));
  }

  bool select() {
    if (!takes(4) || !type()) return false;
    Value *a = in(1, type()), *b = in(2, type()), *condition = in(3, builder_.getInt1Ty());
    return a && b && condition && out(builder_.CreateSelect(condition, a, b));
  }

  bool convert() {
    if (!takes(2) || now_->opcode.size() < 3) return false;
    const std::string& from_name = now_->opcode.back();
    const std::string& to_name = now_->opcode[now_->opcode.size() - 2];
    Type *from = type(from_name), *to = type(to_name);
    if (!from || !to || from->isVectorTy() || to->isVectorTy() || now_->has("relu") || now_->has("satfinite"))
      return false;
    Value* a = in(1, from);
    if (!a) return false;
    const bool from_signed = from_name[0] == 's', to_signed = to_name[0] == 's';
    if (!from->isFloatingPointTy() && !to->isFloatingPointTy())
      return !now_->has("sat") &&
             out(from_signed ? builder_.CreateSExtOrTrunc(a, to) : builder_.CreateZExtOrTrunc(a, to), to_signed);
    if (!from->isFloatingPointTy()) {
      if (now_->has("sat") || (rounding() != "rn" && !rounding().empty())) return false;
      return out(from_signed ? builder_.CreateSIToFP(a, to) : builder_.CreateUIToFP(a, to));
    }
    static const std::map<std::string, Intrinsic::ID> kWhole = {
        {"rni", Intrinsic::roundeven}, {"rzi", Intrinsic::trunc}, {"rmi", Intrinsic::floor}, {"rpi", Intrinsic::ceil}};
    bool whole = false;
    for (const auto& [mode, id] : kWhole)
      if (now_->has(mode)) a = builder_.CreateUnaryIntrinsic(id, a), whole = true;
    if (!to->isFloatingPointTy()) {
      if (!whole) return false;
      return out(convert_to_integer(builder_, a, to, to_signed), to_signed);
    }
    const std::string mode = rounding();
    if (!mode.empty() && mode != "rn") {
      if (!from->isDoubleTy() || !to->isFloatTy()) return false;
      a = call("nvvm.d2f." + mode, to, {a});
    } else if (from != to) {
      if (from->getPrimitiveSizeInBits() == to->getPrimitiveSizeInBits()) return false;
      a = from->getPrimitiveSizeInBits() > to->getPrimitiveSizeInBits() ? builder_.CreateFPTrunc(a, to)
                                                                        : builder_.CreateFPExt(a, to);
    }
    if (now_->has("sat")) a = to->isFloatTy() ? call("__nv_saturatef", to, {a}) : nullptr;
    return out(a);
  }

  /// Generic and global addresses are one; shared ones count from the block's arena.
  bool to_address() {
    if (!takes(2)) return false;
    Value* a = in(1, builder_.getInt64Ty());
    if (!a || !now_->has("shared")) return a && out(a);
    Value* base = builder_.CreatePtrToInt(operands_.shared_base(builder_), builder_.getInt64Ty());
    return out(now_->has("to") ? builder_.CreateSub(a, base) : builder_.CreateAdd(a, base));
  }

  StringRef space() {
    for (const std::string& part : now_->opcode)
      for (const char* name : {"global", "shared", "local", "const", "param"})
        if (StringRef(part).split("::").first == name) return name;
    return "";
  }
  unsigned vector_width() { return now_->has("v2") ? 2 : now_->has("v4") ? 4 : now_->has("v8") ? 8 : 1; }
  bool ordered() { return now_->has("acquire") || now_->has("release") || now_->has("acq_rel") || now_->has("sc"); }
  bool is_atomic() { return ordered() || now_->has("relaxed"); }

  /// The whole access as one integer, so that braces split it, and so that an atomic one is seen whole, as on GPUs:
  /// what hands a value and its flag to other blocks relies on that.
  Type* access_type() {
    if (!type() || space() == "param" || space() == "local") return nullptr;
    const unsigned bits = type()->getPrimitiveSizeInBits() * vector_width();
    if (bits % 8 != 0 || (is_atomic() && bits > 128)) return nullptr;
    return vector_width() == 1 && !type()->isVectorTy() ? type() : builder_.getIntNTy(bits);
  }
  Align alignment(Type* access) { return Align((is_atomic() ? access : type())->getPrimitiveSizeInBits() / 8); }

  bool load() {
    Type* access = access_type();
    if (!access || now_->operands.size() < 2) return false;
    Value* from = operands_.address(builder_, now_->operands[1], space());
    if (!from) return false;
    LoadInst* value = builder_.CreateAlignedLoad(access, from, alignment(access), now_->has("volatile"));
    if (is_atomic()) value->setAtomic(ordered() ? AtomicOrdering::Acquire : AtomicOrdering::Monotonic);
    return out(value, is_signed());
  }

  bool store() {
    Type* access = access_type();
    if (!access || now_->operands.size() < 2) return false;
    Value* to = operands_.address(builder_, now_->operands[0], space());
    Value* value = in(1, access);
    if (!to || !value) return false;
    StoreInst* written = builder_.CreateAlignedStore(value, to, alignment(access), now_->has("volatile"));
    if (is_atomic()) written->setAtomic(ordered() ? AtomicOrdering::Release : AtomicOrdering::Monotonic);
    return true;
  }

  bool atomic() {
    const bool answers = now_->opcode[0] == "atom";
    const size_t first = answers ? 1 : 0;
    if (!type() || type()->isVectorTy() || type()->isIntegerTy(1) || now_->operands.size() < first + 2) return false;
    Value* at = operands_.address(builder_, now_->operands[first], space());
    Value* operand = in(first + 1, type());
    if (!at || !operand) return false;
    const AtomicOrdering order = ordered() ? AtomicOrdering::AcquireRelease : AtomicOrdering::Monotonic;
    Value* old = nullptr;
    if (now_->has("cas")) {
      Value* desired = in(first + 2, type());
      if (!desired || !integral()) return false;
      old = builder_.CreateExtractValue(builder_.CreateAtomicCmpXchg(at, operand, desired, MaybeAlign(), order,
                                                                     ordered() ? AtomicOrdering::Acquire : order),
                                        0);
    } else {
      const bool s = is_signed(), f = floating();
      const std::pair<const char*, AtomicRMWInst::BinOp> kOps[] = {
          {"add", f ? AtomicRMWInst::FAdd : AtomicRMWInst::Add},
          {"exch", AtomicRMWInst::Xchg},
          {"and", AtomicRMWInst::And},
          {"or", AtomicRMWInst::Or},
          {"xor", AtomicRMWInst::Xor},
          {"inc", AtomicRMWInst::UIncWrap},
          {"dec", AtomicRMWInst::UDecWrap},
          {"min", f   ? AtomicRMWInst::FMin
                  : s ? AtomicRMWInst::Min
                      : AtomicRMWInst::UMin},
          {"max", f   ? AtomicRMWInst::FMax
                  : s ? AtomicRMWInst::Max
                      : AtomicRMWInst::UMax}};
      for (const auto& [name, op] : kOps)
        if (now_->has(name) && (!f || op == AtomicRMWInst::Xchg || AtomicRMWInst::isFPOperation(op)))
          old = builder_.CreateAtomicRMW(op, at, operand, MaybeAlign(), order);
    }
    return old && (!answers || out(old));
  }

  bool barrier() {
    Type* word = builder_.getInt32Ty();
    if (now_->has("warp")) return takes(1) && call("nvvm.bar.warp.sync", builder_.getVoidTy(), {in(0, word)});
    if (now_->has("red") || now_->operands.empty() || now_->operands.size() > 2 || now_->has("cluster")) return false;
    Value* id = in(0, word);
    if (now_->has("arrive"))
      return takes(2) && call("nvvm.barrier.cta.arrive.count", builder_.getVoidTy(), {id, in(1, word)});
    if (!now_->has("sync")) return false;
    if (takes(1)) return call("nvvm.barrier.cta.sync.all", builder_.getVoidTy(), {id});
    return call("nvvm.barrier.cta.sync.count", builder_.getVoidTy(), {id, in(1, word)});
  }

  bool fence() { return builder_.CreateFence(AtomicOrdering::SequentiallyConsistent); }

  bool shuffle() {
    Type* word = builder_.getInt32Ty();
    if (!now_->has("sync") || !takes(5)) return false;
    std::string how;
    for (const char* mode : {"idx", "up", "down", "bfly"})
      if (now_->has(mode)) how = mode;
    auto* pair = StructType::get(word, builder_.getInt1Ty());
    Value* both = call("nvvm.shfl.sync." + how + ".i32p", pair, {in(4, word), in(1, word), in(2, word), in(3, word)});
    if (how.empty() || !both) return false;
    auto [value, predicate] = StringRef(now_->operands[0]).split('|');
    if (!predicate.empty() && !operands_.write(builder_, predicate.trim(), builder_.CreateExtractValue(both, 1)))
      return false;
    return operands_.write(builder_, value.trim(), builder_.CreateExtractValue(both, 0));
  }

  bool vote() {
    Type* word = builder_.getInt32Ty();
    if (now_->opcode[0] == "activemask") return takes(1) && out(call("nvvm.activemask", word, {}));
    if (!now_->has("sync") || !takes(3)) return false;
    StringRef predicate = now_->operands[1];
    const bool negated = predicate.consume_front("!");
    Value* mine = operands_.read(builder_, predicate, builder_.getInt1Ty());
    if (!mine) return false;
    if (negated) mine = builder_.CreateNot(mine);
    const bool ballot = now_->has("ballot");
    const std::string how = ballot ? "ballot" : now_->has("all") ? "all" : now_->has("any") ? "any" : "uni";
    return out(call("nvvm.vote." + how + ".sync", ballot ? word : builder_.getInt1Ty(), {in(2, word), mine}));
  }

  bool reduce() {
    Type* word = builder_.getInt32Ty();
    if (!takes(3) || !integral() || now_->opcode.size() != 4) return false;
    std::string how = now_->opcode[2];
    if ((how == "min" || how == "max") && !is_signed()) how = "u" + how;
    return out(call("nvvm.redux.sync." + how, word, {in(1, word), in(2, word)}));
  }

  bool match() {
    Type* word = builder_.getInt32Ty();
    const unsigned bits = integral() ? type()->getIntegerBitWidth() : 0;
    if (!takes(3) || !now_->has("any") || (bits != 32 && bits != 64)) return false;
    return out(call("nvvm.match.any.sync.i" + std::to_string(bits), word, {in(2, word), in(1, type())}));
  }

  bool approximate() {
    if (!takes(2) || !type()) return false;
    const std::string& op = now_->opcode[0];
    const std::string mode = rounding();
    Value* a = in(1, type());
    if (!a) return false;
    if (!mode.empty())
      return (op == "rcp" || op == "sqrt") && (type()->isFloatTy() || type()->isDoubleTy()) &&
             out(call("nvvm." + op + "." + mode + suffix(), type(), {a}));
    if (type()->isDoubleTy())
      return (op == "rcp" || op == "rsqrt") && out(call("nvvm." + op + ".approx.d", type(), {a}));
    // Half precision goes through single.
    Value* wide = type()->isFloatTy()    ? a
                  : type()->isVectorTy() ? nullptr
                                         : builder_.CreateFPExt(a, builder_.getFloatTy());
    Value* value = wide ? call("nvvm." + op + ".approx.f", builder_.getFloatTy(), {wide}) : nullptr;
    return value && out(type()->isFloatTy() ? value : builder_.CreateFPTrunc(value, type()));
  }

  bool copy_sign() {
    if (!takes(3) || !type() || !floating()) return false;
    Value *sign = in(1, type()), *magnitude = in(2, type());
    return sign && magnitude && out(builder_.CreateBinaryIntrinsic(Intrinsic::copysign, magnitude, sign));
  }

  bool end() {
    if (now_->opcode[0] == "trap") return builder_.CreateIntrinsic(Intrinsic::trap, {});
    return call("nvvm.exit", builder_.getVoidTy(), {});
  }
  bool sleep() { return takes(1) && call("nvvm.nanosleep", builder_.getVoidTy(), {in(0, builder_.getInt32Ty())}); }

  /// cp.async, done at once.
  bool copy() {
    if (!now_->has("async") || now_->has("bulk") || now_->has("mbarrier")) return false;
    if (now_->has("commit_group") || now_->has("wait_group") || now_->has("wait_all")) return true;
    if (now_->operands.size() < 3 || now_->operands.size() > 4 || !now_->has("global")) return false;
    Value* to = operands_.address(builder_, now_->operands[0], "shared");
    Value* from = operands_.address(builder_, now_->operands[1], "global");
    Value* bytes = in(2, builder_.getInt64Ty());
    if (!to || !from || !bytes || !isa<ConstantInt>(bytes)) return false;
    if (takes(4)) {
      Value* some = in(3, builder_.getInt64Ty());
      if (!some) return false;
      builder_.CreateMemSet(to, builder_.getInt8(0), bytes, Align(1));
      bytes = some;
    }
    return builder_.CreateMemCpy(to, Align(1), from, Align(1), bytes);
  }

  CallInst& call_;
  const PtxText& text_;
  PtxOperands operands_;
  IRBuilder<> builder_;
  const PtxStatement* now_ = nullptr;
};

}  // namespace

void lower_assembly(DeviceModule& device) {
  SmallVector<CallInst*, 16> calls;
  for (Function& function : *device.module)
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm()) calls.push_back(call);
  std::map<Function*, std::string> translated;  // And the assembly to blame if the outcome is no valid IR.
  for (CallInst* call : calls) {
    auto refuse = [&](std::string text, const std::string& why) {
      std::replace(text.begin(), text.end(), '$', '%');  // Operands as the source spells them.
      device.refuse(*call, "the CPU device does not support inline PTX \"" + text + "\"", why);
    };
    const std::string assembly = cast<InlineAsm>(call->getCalledOperand())->getAsmString().str();
    auto text = parse_ptx(assembly);
    if (!text.ok()) {
      refuse(assembly, text.error().message);
      continue;
    }
    Translator translator(*call, *text);
    if (const PtxStatement* unknown = translator.run()) {
      refuse(unknown->text, translator.problem());
      continue;
    }
    if (Value* value = translator.result()) call->replaceAllUsesWith(value);
    translated.try_emplace(call->getFunction(), "the CPU device does not support inline PTX \"" + assembly + "\" (" +
                                                    place_of(*call) + "): types that do not go together");
    call->eraseFromParent();
  }
  // An instruction of a type that the table did not think of: the optimiser would crash on it.
  for (auto& [function, blamed] : translated)
    if (!device.refused.contains(function) && verifyFunction(*function)) device.refused[function] = blamed;
}

}  // namespace kernelift::cpu
