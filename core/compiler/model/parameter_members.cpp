// See parameter_members.h.
#include "core/compiler/model/parameter_members.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecordLayout.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

namespace kernelift {
namespace {

constexpr size_t kMostMembers = 256;    ///< Of one kernel.
constexpr uint64_t kMostElements = 16;  ///< Of an array in a structure.
constexpr int kDeepest = 8;             ///< Structures in structures.

class Walk {
 public:
  Walk(const clang::ASTContext& context, std::vector<std::vector<std::string>>& rows)
      : context_(context), policy_(context.getPrintingPolicy()), rows_(rows) {}

  void record(size_t parameter, const clang::RecordDecl& record, uint64_t offset, const std::string& path, int depth) {
    if (depth > kDeepest || record.isInvalidDecl() || !record.isCompleteDefinition()) return;
    auto& layout = context_.getASTRecordLayout(&record);
    if (auto* derived = llvm::dyn_cast<clang::CXXRecordDecl>(&record))
      for (auto& base : derived->bases())
        if (auto* of = base.getType()->getAsCXXRecordDecl(); of && of->getDefinition() && !base.isVirtual())
          this->record(parameter, *of->getDefinition(), offset + layout.getBaseClassOffset(of).getQuantity(), path,
                       depth + 1);
    for (auto* field : record.fields()) {
      if (field->isBitField()) continue;
      // Members of an anonymous structure are spelled as those of the one around.
      const std::string name = field->getIdentifier() ? path + "." + field->getName().str() : path;
      value(parameter, field->getType(), offset + layout.getFieldOffset(field->getFieldIndex()) / 8, name, depth);
    }
  }

 private:
  void value(size_t parameter, clang::QualType type, uint64_t offset, const std::string& path, int depth) {
    if (rows_.size() >= kMostMembers) return;
    if (auto* array = context_.getAsConstantArrayType(type)) {
      const uint64_t bytes = context_.getTypeSizeInChars(array->getElementType()).getQuantity();
      for (uint64_t i = 0; i < std::min(array->getZExtSize(), kMostElements); ++i)
        value(parameter, array->getElementType(), offset + i * bytes, path + "[" + std::to_string(i) + "]", depth);
    } else if (auto* inner = type->getAsRecordDecl()) {
      if (auto* whole = inner->getDefinition()) record(parameter, *whole, offset, path, depth + 1);
    } else if (type->isScalarType() || type->isEnumeralType()) {
      auto* choice = type->getAsEnumDecl();
      auto plain = choice && !choice->getIntegerType().isNull() ? choice->getIntegerType() : type;
      rows_.push_back(
          {std::to_string(parameter), std::to_string(offset),
           plain->isPointerType() ? "pointer" : plain.getCanonicalType().getUnqualifiedType().getAsString(policy_),
           path});
    }
  }

  const clang::ASTContext& context_;
  clang::PrintingPolicy policy_;
  std::vector<std::vector<std::string>>& rows_;
};

}  // namespace

ParameterMembers ParameterMembers::of(const clang::FunctionDecl& kernel) {
  ParameterMembers members;
  Walk walk(kernel.getASTContext(), members.rows);
  for (auto* parameter : kernel.parameters())
    if (auto* record = parameter->getType()->getAsRecordDecl(); record && record->getDefinition())
      walk.record(parameter->getFunctionScopeIndex(), *record->getDefinition(), 0, "", 0);
  if (auto* dims = kernel.getAttr<clang::CUDAClusterDimsAttr>())
    for (auto* extent : {dims->getX(), dims->getY(), dims->getZ()}) {
      clang::Expr::EvalResult value;
      const bool known = extent && extent->EvaluateAsInt(value, kernel.getASTContext());
      members.clusters += (members.clusters.empty() ? "" : " x ") +
                          (known ? llvm::toString(value.Val.getInt(), 10) : std::string(extent ? "?" : "1"));
    }
  if (members.empty()) return members;
  members.kernel = clang::ASTNameGenerator(kernel.getASTContext()).getName(&kernel);
  return members;
}

void ParameterMembers::attach(llvm::Module& module) const {
  auto* function = module.getFunction(kernel);
  if (!function) return;
  if (!clusters.empty()) function->addFnAttr(kClusters, clusters);
  if (rows.empty()) return;
  auto& context = module.getContext();
  std::vector<llvm::Metadata*> all;
  for (auto& row : rows) {
    std::vector<llvm::Metadata*> words;
    for (auto& word : row) words.push_back(llvm::MDString::get(context, word));
    all.push_back(llvm::MDNode::get(context, words));
  }
  function->setMetadata(kMembersMetadata, llvm::MDNode::get(context, all));
}

}  // namespace kernelift
