// shared_privatisation: threads of the whole grid that add to the few elements of one array wait for each other at
// global memory. With this rule each block adds to a copy of its own in shared memory, which is added to the array at
// the end:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;  if (i < n) atomicAdd(&counts[value[i]], 1);
// becomes, with blocks that do the work of K,
//   __shared__ int counts_shared[256];  … = 0;  __syncthreads();
//   for (int block_iteration = 0; block_iteration < K; ++block_iteration) { int i = …;  if (i < n)
//     { size_t element = value[i];
//       if (element < 256) atomicAdd(&counts_shared[element], 1); else atomicAdd(&counts[element], 1); }
//   }
//   __syncthreads();
//   for (…) if (counts_shared[element] != 0) atomicAdd(&counts[element], counts_shared[element]);
// The recorded extent of the array gives the size of the copy; elements past it, in another run, are added to directly.
// No element is written that the original does not write. Only atomics whose result is unused, on arrays that the
// kernel does not access otherwise.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/threads/axis_dependence.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

constexpr uint64_t kMostBytes = 16 * 1024;  ///< Shared memory of all copies: several blocks must fit a multiprocessor.

struct Sum {
  const clang::CallExpr* call = nullptr;
  std::string index;  ///< The element's index as it is spelled; empty: 0.
};

struct Array {
  const clang::ParmVarDecl* parameter = nullptr;
  std::string name, type, shared;  ///< `type` of an element; `shared` names the block's copy.
  uint64_t elements = 0;
  std::vector<Sum> sums;
};

/// `atomicAdd(&array[index], x);`, `atomicAdd(array + index, x);` or `atomicAdd(array, x);` whose array is a parameter.
std::optional<std::pair<const clang::ParmVarDecl*, Sum>> as_sum(const KernelSource& source,
                                                                const clang::Stmt* statement) {
  auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (!call || source.spelled(call->getCallee()) != "atomicAdd" || call->getNumArgs() != 2 ||
      !source.value_is_unused(call))
    return std::nullopt;
  auto* address = call->getArg(0)->IgnoreParenImpCasts();
  const clang::Expr *array = address, *index = nullptr;
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(address); unary && unary->getOpcode() == clang::UO_AddrOf) {
    auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(unary->getSubExpr()->IgnoreParens());
    if (!subscript) return std::nullopt;
    array = subscript->getBase(), index = subscript->getIdx();
  } else if (auto* sum = llvm::dyn_cast<clang::BinaryOperator>(address); sum && sum->getOpcode() == clang::BO_Add) {
    array = sum->getLHS(), index = sum->getRHS();
  }
  auto* parameter = llvm::dyn_cast_or_null<clang::ParmVarDecl>(named_variable(array));
  std::string where = index ? source.spelled(index) : "";
  if (!parameter || !parameter->getType()->isPointerType() || (index && where.empty()) ||
      source.spelled(call->getArg(1)).empty())
    return std::nullopt;
  if (squeezed(where) == "0") where.clear();
  return std::pair{parameter, Sum{call, where}};
}

std::vector<Array> arrays_in(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel) {
  std::vector<Array> arrays;
  uint64_t bytes = 0;
  for (size_t p = 0; p < kernel->getNumParams(); ++p) {
    Array array;
    array.parameter = kernel->getParamDecl(static_cast<unsigned>(p));
    auto extent = facts.extents.find(p);
    if (extent == facts.extents.end() || extent->second > kMostBytes || facts.shared_pointers.contains(p)) continue;
    clang::QualType element = array.parameter->getType()->getPointeeType();
    if (element.isNull() || element.hasQualifiers() || element->isDependentType() || !element->isArithmeticType() ||
        spelled_by_macro(source, array.parameter))
      continue;
    size_t mentions = 0;
    walk(kernel->getBody(), [&](const clang::Stmt* statement) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
      mentions += reference && reference->getDecl() == array.parameter;
      if (auto sum = as_sum(source, statement); sum && sum->first == array.parameter) array.sums.push_back(sum->second);
      return true;
    });
    array.elements = extent->second / static_cast<uint64_t>(source.context().getTypeSizeInChars(element).getQuantity());
    if (array.sums.empty() || mentions != array.sums.size() || array.elements == 0 ||
        bytes + extent->second > kMostBytes)
      continue;
    bytes += extent->second;
    array.name = array.parameter->getNameAsString(),
    array.type = element.getAsString(source.context().getPrintingPolicy());
    array.shared = source.fresh_name(array.name + "_shared");
    arrays.push_back(std::move(array));
  }
  return arrays;
}

/// Adds copies of the arrays to a text that `found` rewrites already.
std::optional<Opportunity> with_copies(const KernelSource& source, const RuleContext& facts,
                                       const clang::FunctionDecl* kernel, const std::vector<Array>& arrays,
                                       Opportunity found, bool wrapped) {
  auto* body = llvm::cast<clang::CompoundStmt>(kernel->getBody());
  auto open = source.offset(body->getLBracLoc()), close = source.offset(body->getRBracLoc());
  if (!open || !close) return std::nullopt;
  const std::string indent = source.body_indentation(kernel);
  const std::string wrap = wrapped ? "\n" + indent + "do {" : "", unwrap = wrapped ? indent + "} while (false);\n" : "";
  std::string thread = source.fresh_name("thread"), threads = source.fresh_name("threads"),
              at = source.fresh_name("element");
  std::string declared, cleared, collected;
  std::set<std::string> apart;
  for (auto& array : arrays) {
    std::string count = std::to_string(array.elements), mine = array.shared + "[" + at + "]",
                all = array.name + "[" + at + "]";
    std::string each =
        "for (unsigned " + at + " = " + thread + "; " + at + " < " + count + "; " + at + " += " + threads + ") ";
    declared += "\n" + indent + "__shared__ " + array.type + " " + array.shared + "[" + count + "];";
    cleared += "\n" + indent + each + mine + " = 0;";
    collected += indent + each + "if (" + mine + " != 0) atomicAdd(&" + all + ", " + mine + ");\n";
    for (auto& sum : array.sums) {
      auto range = source.span(sum.call);
      auto stop = range ? source.statement_end(sum.call) : std::nullopt;
      if (!stop) return std::nullopt;
      std::string value = source.spelled(sum.call->getArg(1)),
                  text = "atomicAdd(&" + array.shared + "[0], " + value + ");";
      if (!sum.index.empty())
        text = "{ const size_t " + at + " = " + sum.index + "; if (" + at + " < " + count + ") atomicAdd(&" + mine +
               ", " + value + "); else atomicAdd(&" + all + ", " + value + "); }";
      found.edits.push_back({range->begin, *stop, text});
    }
    found.place += (found.place.empty() ? "" : ", ") + array.name;
    if (touches_other_memory(body, array.parameter)) apart.insert(array.name);
  }
  if (!apart.empty()) found.premises.push_back(facts.no_overlap(apart));
  declared += "\n" + indent + "const unsigned " + thread +
              " = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, " + threads +
              " = blockDim.x * blockDim.y * blockDim.z;";
  size_t end = source.first_on_line(*close) ? source.line_begin(*close) : *close;
  found.edits.insert(found.edits.begin(),
                     {*open + 1, *open + 1, declared + cleared + "\n" + indent + "__syncthreads();" + wrap});
  found.edits.push_back({end, end, unwrap + indent + "__syncthreads();\n" + collected});
  return found;
}

std::vector<Opportunity> find_shared_privatisation(const KernelSource& source, const RuleContext& facts,
                                                   const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  auto open = body ? source.offset(body->getLBracLoc()) : std::nullopt;
  if (!open || !kernel->getReturnType()->isVoidType() || has_dynamic_shared(source) ||
      rests_on_ended_lanes(source, body, facts))
    return {};
  const std::vector<Array> arrays = arrays_in(source, facts, kernel);
  if (arrays.empty()) return {};
  std::vector<Opportunity> forms;
  bool wrapped = false;
  if (int64_t factor = values.at("factor"); factor > 1) {
    forms = coarsened(source, facts, kernel, 0, factor);
  } else if (auto returns = continue_instead_of_return(source, body, *open)) {
    wrapped = !returns->empty();
    forms.emplace_back().edits = std::move(*returns);
  }
  std::vector<Opportunity> all;
  for (auto& form : forms) {
    form.place.clear();
    if (auto whole = with_copies(source, facts, kernel, arrays, std::move(form), wrapped))
      all.push_back(std::move(*whole));
  }
  return all;
}

}  // namespace

const Rule kSharedPrivatisation = {
    "shared_privatisation",
    "let each block add to a copy in shared memory, which is added to the array at the end",
    "atomics whose result is not used, on a small array that the kernel does not access otherwise",
    {{"factor", {1, 8, 32}}},
    find_shared_privatisation,
    {Bound::Memory, Bound::Latency},
    0.3};

}  // namespace kernelift::tuner
