// See low_bits.h. Also how ValueReader (value_reader.h) reads what loses bits.
#include "core/compiler/model/numbers/low_bits.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>

#include "core/compiler/model/conditions.h"
#include "core/compiler/model/numbers/kept_values.h"
#include "core/compiler/model/value_reader.h"

namespace kernelift {

Expression low_bits(Expression value, unsigned bits) {
  const int64_t size = int64_t(1) << bits;
  Expression low = Expression::binary(Expression::Op::BitAnd, std::move(value), number(size - 1));
  Expression negative = Expression::binary(Expression::Op::GreaterEqual, low, number(size / 2));
  return Expression::conditional(std::move(negative), low - number(size), low);
}

std::optional<Expression> unsigned_of_low_bits(const Expression& value, unsigned bits) {
  if (value.op() != Expression::Op::Conditional || bits > kMostLowBits) return std::nullopt;
  const Expression& low = value.operands()[2];
  if (low.op() != Expression::Op::BitAnd || value != low_bits(low.operands()[0], bits)) return std::nullopt;
  return low;
}

/// What is not known to fit is the number that its lower bits are. But of parameters, positions and iterations alone it
/// is asked whether 32 bits hold it (number_width.h): most are sizes, which are to stay sums and products.
Expression ValueReader::truncated(const llvm::SCEV* cut, const llvm::Loop* scope) {
  auto* of = llvm::cast<llvm::SCEVCastExpr>(cut)->getOperand();
  const unsigned bits = evolution_.getTypeSizeInBits(cut->getType());
  Expression whole = integer(of, scope);
  if (bits < kLeastIndexBits) return whole;  // compute_integer() cuts it.
  const auto range = evolution_.getSignedRange(of);
  if ((range.getSignedMin().isSignedIntN(bits) && range.getSignedMax().isSignedIntN(bits)) ||
      (bits > kLeastIndexBits && evolution_.getUnsignedRangeMax(of).isIntN(bits)))
    return whole;
  const auto variables = whole.variables();
  const bool has_terms = std::ranges::any_of(variables, [](auto& name) { return name.starts_with("term."); });
  if (bits == kLeastIndexBits && !has_terms) return whole;
  if (bits > kMostLowBits || evolution_.getTypeSizeInBits(of->getType()) > 64)
    return unknown_term("the lower bits of a wide number", 0);
  return low_bits(std::move(whole), bits);
}

/// What scalar evolution does not look through (kept_values.h).
Expression ValueReader::kept_value(llvm::Instruction& kept, const llvm::Loop* scope) {
  using namespace llvm::PatternMatch;
  const unsigned bits = kept.getType()->isIntegerTy() ? kept.getType()->getIntegerBitWidth() : 0;
  if (kept.getOpcode() == llvm::Instruction::Trunc && bits > 0 && bits <= kMostLowBits &&
      kept.getOperand(0)->getType()->getIntegerBitWidth() <= 64)
    return low_bits(integer(kept.getOperand(0), scope), bits);
  llvm::Value* of = nullptr;
  const llvm::APInt *mask = nullptr, *left = nullptr, *right = nullptr;
  if (bits == 64 && match(&kept, m_And(m_Value(of), m_APInt(mask))) && mask->isShiftedMask() &&
      mask->getActiveBits() <= kMostLowBits) {
    const Expression whole = integer(of, scope);
    auto below = [&](unsigned end) {
      return Expression::binary(Expression::Op::BitAnd, whole, number((int64_t(1) << end) - 1));
    };
    return mask->isMask() ? below(mask->getActiveBits()) : below(mask->getActiveBits()) - below(mask->countr_zero());
  }
  if (bits == 64 && match(&kept, m_AShr(m_Shl(m_Value(of), m_APInt(left)), m_APInt(right))) &&
      left->uge(64 - kMostLowBits) && left->ult(63) && right->ult(64)) {
    const int64_t up = static_cast<int64_t>(left->getZExtValue()), down = static_cast<int64_t>(right->getZExtValue());
    Expression low = low_bits(integer(of, scope), static_cast<unsigned>(64 - up));
    if (up == down) return low;
    return up > down ? std::move(low) * number(int64_t(1) << (up - down))
                     : Expression::binary(Expression::Op::ShiftRight, std::move(low), number(down - up));
  }
  return term(&kept, scope);
}

}  // namespace kernelift
