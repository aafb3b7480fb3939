// Texture fetches and surface accesses. What a fetch computes is in the device library (devicelib/texture.h), which is
// handed the object and the coordinates; a surface access is a plain load or store at the address that it names.
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "sandbox/device/cpu/lower/ptx/ptx_translator.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {
/// The device library's: how many axes, and that of the array's last one is the layer.
constexpr unsigned kLayered = 4;
}  // namespace

struct PtxTranslator::Coordinates {
  Value *object = nullptr, *shape = nullptr, *layer = nullptr;
  Value* axis[3] = {};
};

/// "[object, {x, y}]", for arrays "[object, {layer, x, y, y}]". Unused axes are null values.
bool PtxTranslator::coordinates(StringRef operand, Type* axis, Coordinates& at) {
  static const struct {
    const char* name;
    unsigned axes;
    bool layered;
  } kGeometries[] = {{"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true}};
  const auto* geometry = find_if(kGeometries, [&](auto& one) { return now_->has(one.name); });
  if (geometry == std::end(kGeometries)) return false;
  if (!operand.consume_front("[") || !operand.consume_back("]")) return false;
  auto [object, list] = operand.split(',');
  list = list.trim();
  SmallVector<StringRef, 4> parts;
  if (!list.consume_front("{") || !list.consume_back("}")) return false;
  list.split(parts, ',');
  const unsigned first = geometry->layered ? 1 : 0;
  if (parts.size() < first + geometry->axes) return false;
  at.object = operands_.read(builder_, object.trim(), builder_.getInt64Ty());
  at.shape = builder_.getInt32(geometry->axes | (geometry->layered ? kLayered : 0));
  at.layer =
      geometry->layered ? operands_.read(builder_, parts[0].trim(), builder_.getInt32Ty()) : builder_.getInt32(0);
  for (unsigned i = 0; i < 3; ++i)
    at.axis[i] =
        i < geometry->axes ? operands_.read(builder_, parts[first + i].trim(), axis) : Constant::getNullValue(axis);
  return at.object && at.layer && all_of(at.axis, [](Value* value) { return value; });
}

/// A level or gradients may follow the coordinates: without mipmaps they choose the only level there is.
bool PtxTranslator::fetch() {
  if (!now_->has("v4") || now_->operands.size() < 2) return false;
  const bool whole = now_->type() == "s32";
  if (!whole && now_->type() != "f32") return false;
  Coordinates at;
  if (!coordinates(now_->operands[1], whole ? builder_.getInt32Ty() : builder_.getFloatTy(), at)) return false;
  auto* texel = FixedVectorType::get(builder_.getInt32Ty(), 4);
  return out(call(whole ? "__nvvm_kl_texels" : "__nvvm_kl_texture", texel,
                  {at.object, at.shape, at.axis[0], at.axis[1], at.axis[2], at.layer}));
}

bool PtxTranslator::gather() {
  static const StringRef kChannels = "rgba";
  if (now_->opcode.size() < 2 || now_->opcode[1].size() != 1 || !takes(2)) return false;
  const size_t channel = kChannels.find(now_->opcode[1]);
  Coordinates at;
  if (channel == StringRef::npos || !now_->has("2d") || !coordinates(now_->operands[1], builder_.getFloatTy(), at))
    return false;
  return out(call("__nvvm_kl_texture_gather", FixedVectorType::get(builder_.getInt32Ty(), 4),
                  {at.object, builder_.getInt32(unsigned(channel)), at.axis[0], at.axis[1]}));
}

/// All of the access as one integer; its element's type stands before what happens outside: ".v2.b32.trap".
Type* PtxTranslator::surface_type() {
  Type* element = now_->opcode.size() > 2 ? type(now_->opcode[now_->opcode.size() - 2]) : nullptr;
  return element && now_->has("b") ? builder_.getIntNTy(element->getPrimitiveSizeInBits() * vector_width()) : nullptr;
}

/// Ends the kernel where the access is outside and neither clamped nor, as `zero` asks, without effect.
Value* PtxTranslator::surface_address(size_t operand, Type* access) {
  if (operand >= now_->operands.size() || !access) return nullptr;
  const bool zero = now_->has("zero"), clamp = now_->has("clamp");
  if (!zero && !clamp && !now_->has("trap")) return nullptr;
  Coordinates at;
  Type* word = builder_.getInt32Ty();
  if (!coordinates(now_->operands[operand], word, at)) return nullptr;
  const unsigned bytes = access->getPrimitiveSizeInBits() / 8;
  Value* address = call("__nvvm_kl_surface", builder_.getInt64Ty(),
                        {at.object, at.shape, builder_.getInt32(clamp), builder_.getInt32(bytes), at.axis[0],
                         at.axis[1], at.axis[2], at.layer});
  if (address && !zero) {
    Value* outside = builder_.CreateICmpEQ(address, builder_.getInt64(0));
    builder_.SetInsertPoint(SplitBlockAndInsertIfThen(outside, &call_, false));
    builder_.CreateIntrinsic(Intrinsic::trap, {});
    builder_.SetInsertPoint(&call_);
  }
  return address;
}

bool PtxTranslator::surface_load() {
  Type* bits = surface_type();
  Value* address = surface_address(1, bits);
  if (!address) return false;
  const Align alignment(bits->getPrimitiveSizeInBits() / 8);
  auto load_it = [&] {
    return builder_.CreateAlignedLoad(bits, builder_.CreateIntToPtr(address, builder_.getPtrTy()), alignment);
  };
  if (!now_->has("zero")) return out(load_it());
  BasicBlock* outside = builder_.GetInsertBlock();
  Value* inside = builder_.CreateICmpNE(address, builder_.getInt64(0));
  builder_.SetInsertPoint(SplitBlockAndInsertIfThen(inside, &call_, false));
  Value* loaded = load_it();
  BasicBlock* taken = builder_.GetInsertBlock();
  builder_.SetInsertPoint(&call_);
  IRBuilder<> at_start(call_.getParent(), call_.getParent()->begin());
  PHINode* merged = at_start.CreatePHI(bits, 2);
  merged->addIncoming(loaded, taken);
  merged->addIncoming(Constant::getNullValue(bits), outside);
  return out(merged);
}

bool PtxTranslator::surface_store() {
  Type* bits = surface_type();
  Value* address = surface_address(0, bits);
  if (!address) return false;
  Value* value = in(1, bits);
  if (!value) return false;
  if (now_->has("zero")) {
    Value* inside = builder_.CreateICmpNE(address, builder_.getInt64(0));
    builder_.SetInsertPoint(SplitBlockAndInsertIfThen(inside, &call_, false));
  }
  builder_.CreateAlignedStore(value, builder_.CreateIntToPtr(address, builder_.getPtrTy()),
                              Align(bits->getPrimitiveSizeInBits() / 8));
  builder_.SetInsertPoint(&call_);
  return true;
}

}  // namespace kernelift::cpu
