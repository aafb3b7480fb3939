// streaming_accesses: what the whole grid reads once, or writes once, need not stay in the cache,
//   if (i < n) out[i] = 2 * x[i] + table[k];
// and does not drive out what is read again:
//   if (i < n) __stcs(&out[i], 2 * __ldcs(&x[i]) + table[k]);
// An array counts as such if a thread accesses it at one place alone, in no loop but a grid-stride one, and threads
// that follow each other access elements that follow each other. The operators change no result. Arrays that are read
// again and never written: restrict_pointers (`__ldg`).
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/stencils/register_window.h"
#include "tuner/source/rules/threads/grid_stride_loop.h"

namespace kernelift::tuner {
namespace {

/// The operators exist for numbers of these types.
bool has_operators(clang::QualType type) {
  auto* builtin = type->getAs<clang::BuiltinType>();
  using B = clang::BuiltinType;
  static const std::set<B::Kind> kTypes = {B::Char_S, B::SChar, B::UChar,    B::Short,     B::UShort, B::Int,   B::UInt,
                                           B::Long,   B::ULong, B::LongLong, B::ULongLong, B::Float,  B::Double};
  return builtin && kTypes.contains(builtin->getKind()) && !type.isVolatileQualified();
}

/// The kernel's indices, all of them; empty if its threads are told apart otherwise.
std::vector<GlobalIndex> all_indices(const KernelSource& source, const clang::FunctionDecl* kernel) {
  std::vector<GlobalIndex> found;
  for (int axis = 0; axis < 3; ++axis) {
    auto index = global_index(source, kernel, axis);
    if (!index && axis == 0) index = grid_stride_loop(source, kernel);
    if (index && index->declared) {
      found.push_back(std::move(*index));
      continue;
    }
    bool mentioned = false;
    walk(kernel->getBody(), [&](const clang::Stmt* inner) {
      auto builtin = builtin_of(inner);
      mentioned |= builtin && (builtin->second == 0 || builtin->second == *kAxisNames[axis]);
      return !builtin;
    });
    if (axis == 0 || mentioned) return {};
  }
  return found;
}

/// What the kernel does with an array; nullopt if that is more than one read and one assignment of the same element.
struct Streamed {
  const clang::ArraySubscriptExpr* read = nullptr;
  const clang::BinaryOperator* store = nullptr;
};

std::optional<Streamed> streamed(const KernelSource& source, const clang::FunctionDecl* kernel,
                                 const std::vector<GlobalIndex>& indices, const IndexSums& sums,
                                 const clang::VarDecl* array) {
  Streamed found;
  std::optional<IndexSum> place;
  bool good = true;
  walk(kernel->getBody(), [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    if (!reference || reference->getDecl() != array) return good;
    const clang::Stmt* up = source.parent(reference);
    while (llvm::isa_and_nonnull<clang::ImplicitCastExpr, clang::ParenExpr>(up)) up = source.parent(up);
    auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(up);
    auto at = element ? sums.of(element->getIdx()) : std::nullopt;
    if (!at || (place && *place != *at) || source.spelled(element).empty()) return good = false;
    place = at;
    auto* set = llvm::dyn_cast_or_null<clang::BinaryOperator>(source.parent(element));
    if (is_read(source, element)) {
      good &= !found.read;
      found.read = element;
    } else if (set && set->getOpcode() == clang::BO_Assign && set->getLHS() == element && source.value_is_unused(set) &&
               source.span(set) && source.span(set->getRHS())) {
      good &= !found.store;
      found.store = set;
    } else {
      good = false;
    }
    for (auto* around = source.parent(element); around; around = source.parent(around))
      good &= !llvm::isa<clang::WhileStmt, clang::DoStmt>(around) &&
              (!llvm::isa<clang::ForStmt>(around) || around == indices.front().loop);
    return good;
  });
  if (!good || !place) return std::nullopt;
  for (auto& index : indices) {
    auto step = place->coefficient(IndexSums::name(index.variable));
    if (!step || step->is_zero() || (index.axis == 0 && *step != IndexSum(1))) return std::nullopt;
  }
  return found;
}

std::vector<Opportunity> find_streaming_accesses(const KernelSource& source, const RuleContext& facts,
                                                 const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.on_cpu || facts.hip) return {};
  const auto indices = all_indices(source, kernel);
  if (indices.empty() || indices.front().block_only) return {};
  std::vector<const clang::VarDecl*> variables;
  for (auto& index : indices) variables.push_back(index.variable);
  const IndexSums sums(source, kernel->getBody(), variables);
  Opportunity found;
  std::vector<std::string> arrays;
  for (auto* parameter : kernel->parameters()) {
    auto type = parameter->getType();
    if (!type->isPointerType() || type->isDependentType() || !has_operators(type->getPointeeType()) ||
        sums.changes(parameter))
      continue;
    auto streams = streamed(source, kernel, indices, sums, parameter);
    if (!streams) continue;
    const size_t before = found.edits.size();
    if (streams->read) {
      auto span = source.span(streams->read);
      found.edits.push_back({span->begin, span->begin, "__ldcs(&"});
      found.edits.push_back({span->end, span->end, ")"});
    }
    if (streams->store && values.at("stores") != 0) {
      auto whole = source.span(streams->store), value = source.span(streams->store->getRHS());
      found.edits.push_back({whole->begin, value->begin, "__stcs(&" + source.spelled(streams->store->getLHS()) + ", "});
      found.edits.push_back({value->end, value->end, ")"});
    }
    if (found.edits.size() != before) arrays.push_back(parameter->getNameAsString());
  }
  const bool stores = std::ranges::any_of(found.edits, [](auto& edit) { return edit.text.starts_with("__stcs"); });
  if (arrays.empty() || stores != (values.at("stores") != 0)) return {};
  found.place = "accesses to " + listed(arrays);
  found.summary = stores ? "streamed past the cache, stores too" : "streamed past the cache";
  return {found};
}

}  // namespace

const Rule kStreamingAccesses = {
    "streaming_accesses",
    "mark accesses to elements that the whole grid reads or writes once: __ldcs, __stcs",
    "an array of numbers that each thread accesses at one place alone, in no loop but a grid-stride one, by all of its "
    "global indices and along x one element after the other",
    {{"stores", {1, 0}}},
    find_streaming_accesses,
    {Bound::Memory},
    0.02};

}  // namespace kernelift::tuner
