// See record_finder.h. Offsets are those of clang's record layouts for the device, which are the host's too.
#include "extractor/scan/record_finder.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/RecordLayout.h>

#include <algorithm>
#include <map>

#include "core/model/element_layout.h"
#include "core/model/kernel_key.h"
#include "extractor/scan/kernel_finder.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

constexpr size_t kMostRecords = 256, kMostPointers = 4096, kMostLanes = 256;

/// The structure that `type` is, is an array of, or points to; nullptr if there is none with a definition.
const CXXRecordDecl* record_behind(const ASTContext& context, QualType type) {
  for (;;) {
    type = context.getBaseElementType(type.getCanonicalType());
    if (!type->isPointerType() && !type->isReferenceType()) break;
    type = type->getPointeeType();
  }
  auto* record = type->getAsCXXRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  return record && !record->isInvalidDecl() && !record->isDependentType() ? record : nullptr;
}

/// Walks through a structure's members.
class Members {
 public:
  explicit Members(const ParsedUnit& unit) : unit_(unit), context_(unit.context) {}

  void record(const CXXRecordDecl* record, uint64_t offset) {
    record = record->getDefinition();
    if (!record || record->isInvalidDecl() || record->isDependentType()) return unknown();
    const ASTRecordLayout& layout = context_.getASTRecordLayout(record);
    ElementType known = ElementType::parse(spelled_type(unit_, context_.getCanonicalTagType(record)));
    if (known.kind == ElementType::Kind::Half || known.kind == ElementType::Kind::Bfloat16) {
      for (uint64_t at = 0; at < uint64_t(layout.getSize().getQuantity()); at += known.width)
        lane(offset + at, known.kind == ElementType::Kind::Half ? "__half" : "__nv_bfloat16");
      return;
    }
    if (record->isUnion()) return choice(record, offset, uint64_t(layout.getSize().getQuantity()));
    // No member describes the pointer to the virtual function table or the contents of virtual bases.
    if (record->isDynamicClass()) unknown();
    for (auto& base : record->bases())
      if (auto* of = base.getType()->getAsCXXRecordDecl(); of && !base.isVirtual())
        this->record(of, offset + uint64_t(layout.getBaseClassOffset(of).getQuantity()));
    for (auto* field : record->fields()) {
      uint64_t bit = layout.getFieldOffset(field->getFieldIndex()), byte = offset + bit / 8;
      if (!field->isBitField()) member(field->getType(), byte);
      else bytes(byte, offset + (bit + field->getBitWidthValue() + 7) / 8);
    }
  }

  /// The element's type as text; a structure of nothing but addresses is "byte".
  std::string element(uint64_t size) const {
    std::string text = laid_out_ ? spelled_element(lanes_, size) : "byte";
    return pointers.empty() || text.starts_with("{") ? text : "byte";
  }

  std::vector<ScannedPointer> pointers;
  std::vector<QualType> pointees;
  bool open = false;

 private:
  void member(QualType type, uint64_t offset) {
    type = type.getCanonicalType().getUnqualifiedType();
    if (type->isPointerType() || type->isReferenceType()) return address(type->getPointeeType(), offset);
    if (auto* array = context_.getAsConstantArrayType(type))
      return elements(array->getElementType(), array->getZExtSize(), offset);
    if (auto* complex = type->getAs<ComplexType>()) return elements(complex->getElementType(), 2, offset);
    if (auto* of = type->getAsCXXRecordDecl()) return record(of, offset);
    std::string name = element_type(unit_, type);
    ElementType scalar = ElementType::parse(name);
    if (scalar.kind == ElementType::Kind::Bytes || !type->isScalarType() ||
        context_.getTypeSizeInChars(type).getQuantity() != scalar.width) {
      laid_out_ = false;  // A vector, a 128-bit integer, a member pointer.
      return;
    }
    lane(offset, name);
  }

  void address(QualType to, uint64_t offset) {
    lane(offset, "unsigned long");
    if (pointers.size() == kMostPointers) return unknown();
    pointers.push_back({uint32_t(offset), to->isFunctionType() ? "void" : element_type(unit_, to)});
    pointees.push_back(to);
  }

  void elements(QualType type, uint64_t count, uint64_t offset) {
    auto size = uint64_t(context_.getTypeSizeInChars(type).getQuantity());
    for (uint64_t i = 0; i < count; ++i) {
      size_t before = pointers.size();
      member(type, offset + i * size);
      // The remaining elements have no pointers either, and the lanes are not known any more.
      if (pointers.size() == before && !laid_out_) return;
    }
  }

  /// A union may contain any of its members, so its bytes have no type and its pointers no pointee type.
  void choice(const CXXRecordDecl* of, uint64_t offset, uint64_t size) {
    Members all(unit_);
    for (auto* field : of->fields()) all.member(field->getType(), offset);
    for (auto& one : all.pointers)
      if (std::ranges::find(pointers, one.offset, &ScannedPointer::offset) == pointers.end())
        pointers.push_back({one.offset, "void"});
    open |= all.open;
    bytes(offset, offset + size);
  }

  void bytes(uint64_t begin, uint64_t end) {
    if (!lanes_.empty() && lanes_.back().second == kByte) begin = std::max(begin, lanes_.back().first + 1);
    for (; begin < end && laid_out_; ++begin) lane(begin, kByte);
  }

  void lane(uint64_t offset, std::string type) {
    laid_out_ &= lanes_.size() < kMostLanes;
    if (laid_out_) lanes_.emplace_back(offset, std::move(type));
  }
  void unknown() { laid_out_ = false, open = true; }

  static constexpr const char* kByte = "unsigned char";
  const ParsedUnit& unit_;
  const ASTContext& context_;
  std::vector<SpelledLane> lanes_;
  bool laid_out_ = true;
};

/// The module variables that may contain addresses, by key, with the type of their elements.
std::map<std::string, QualType> variables_of(const ParsedUnit& unit, const Closure& closure) {
  std::map<std::string, QualType> found;
  for (auto* variable : closure.variables) {
    bool module = variable->hasAttr<CUDADeviceAttr>() || variable->hasAttr<CUDAConstantAttr>() ||
                  variable->hasAttr<HIPManagedAttr>();
    if (!module || variable->hasAttr<CUDASharedAttr>()) continue;
    QualType type = unit.context.getBaseElementType(variable->getType().getCanonicalType());
    if (type->isPointerType() || type->isRecordType()) found[canonical_key(mangled_name(unit, variable))] = type;
  }
  return found;
}

}  // namespace

void find_records(const ParsedUnit& unit, const FunctionDecl* kernel, const Closure& closure, ScannedKernel& into) {
  std::vector<ScannedRecord>& found = into.records;
  std::map<std::string, const CXXRecordDecl*> known;
  std::vector<QualType> types;
  for (auto* parameter : kernel->parameters()) types.push_back(parameter->getType());
  for (auto& [key, type] : variables_of(unit, closure)) {
    into.variables.push_back({key, element_type(unit, type)});
    types.push_back(type);
  }
  for (size_t next = 0; next < types.size() && found.size() < kMostRecords; ++next) {
    auto* record = record_behind(unit.context, types[next]);
    if (!record) continue;
    std::string name = spelled_type(unit, unit.context.getCanonicalTagType(record));
    auto [seen, fresh] = known.try_emplace(name, record);
    if (!fresh) {
      // Local classes and lambdas of two instances of a template have the same spelling; then neither gets a layout.
      if (seen->second != record) *std::ranges::find(found, name, &ScannedRecord::name) = {name, 0, "byte", {}, true};
      continue;
    }
    Members members(unit);
    members.record(record, 0);
    uint64_t size = uint64_t(unit.context.getASTRecordLayout(record).getSize().getQuantity());
    std::ranges::sort(members.pointers, {}, &ScannedPointer::offset);
    found.push_back({name, size, members.element(size), std::move(members.pointers), members.open});
    types.insert(types.end(), members.pointees.begin(), members.pointees.end());
  }
}

}  // namespace kernelift::extractor
