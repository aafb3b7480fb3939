// See block_index.h.
#include "tuner/source/rules/threads/block_index.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <cctype>

namespace kernelift {
namespace {

bool says(const std::string& text, const std::string& word) { return text.find(word) != text.npos; }

std::string bare(std::string text) {
  text = squeezed(text);
  for (auto* noise : {"(size_t)", "(int)", "(unsignedint)", "(unsigned)", "(long)", "(longlong)", "static_cast<int>", "static_cast<size_t>"})
    for (size_t at; (at = text.find(noise)) != text.npos;) text.erase(at, std::string_view(noise).size());
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return text;
}

}  // namespace

uint32_t along(const Dim3& size, int axis) { return axis == 0 ? size.x : axis == 1 ? size.y : size.z; }

bool is_global_index(std::string text, int axis) {
  text = bare(std::move(text));
  // The width is blockDim, or the macro or constant that the launch uses too.
  std::string name = kAxisNames[axis], block = "blockIdx." + name, thread = "threadIdx." + name, product = text;
  if (product.starts_with(thread + "+")) product = product.substr(thread.size() + 1);
  else if (product.ends_with("+" + thread)) product.resize(product.size() - thread.size() - 1);
  else return false;
  std::string width;
  if (product.starts_with(block + "*")) width = product.substr(block.size() + 1);
  else if (product.ends_with("*" + block)) width = product.substr(0, product.size() - block.size() - 1);
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; };
  return width == "blockDim." + name || (!width.empty() && std::all_of(width.begin(), width.end(), word));
}

bool is_block_number(std::string text, int axis) { return bare(std::move(text)) == std::string("blockIdx.") + kAxisNames[axis]; }

std::optional<GlobalIndex> global_index(const KernelSource& source, const clang::FunctionDecl* kernel, int axis) {
  auto* body = llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody());
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  auto open = body ? source.offset(body->getLBracLoc()) : std::nullopt;
  if (!close || !open) return std::nullopt;
  GlobalIndex found;
  found.axis = axis;
  for (auto* statement : body->body()) {
    const clang::VarDecl* variable = nullptr;
    const clang::Expr* value = nullptr;
    if (auto* declared = llvm::dyn_cast<clang::DeclStmt>(statement); declared && declared->isSingleDecl()) {
      variable = llvm::dyn_cast<clang::VarDecl>(declared->getSingleDecl());
      value = variable ? variable->getInit() : nullptr;
    } else if (auto* set = llvm::dyn_cast<clang::BinaryOperator>(statement); set && set->getOpcode() == clang::BO_Assign) {
      variable = named_variable(set->getLHS()), value = set->getRHS();
    }
    if (!variable || !value || !variable->hasLocalStorage() || !variable->getType()->isIntegerType()) continue;
    std::string text = source.spelled(value);
    if (!is_global_index(text, axis) && !is_block_number(text, axis)) continue;
    found.statement = statement, found.variable = variable, found.value = value;
    found.declared = llvm::isa<clang::DeclStmt>(statement), found.block_alone = is_block_number(text, axis);
    break;
  }
  auto here = found.statement ? source.span(found.statement) : std::nullopt;
  if (!here || !source.span(found.value) || !source.first_on_line(here->begin)) return std::nullopt;
  // What is set twice is no index.
  for (auto* statement : body->body())
    if (statement != found.statement && !llvm::isa<clang::DeclStmt>(statement) && changed_within(statement).contains(found.variable)) return std::nullopt;
  std::string around = squeezed(source.text().substr(*open, here->begin - *open) + source.text().substr(here->end, *close - here->end));
  for (auto* word : {"blockIdx.", "gridDim.", "threadIdx."}) {
    if (found.block_alone && word == std::string("threadIdx.")) break;  // Which thread of the block it is says nothing of the block.
    if (says(around, std::string(word) + kAxisNames[axis])) return std::nullopt;
  }
  for (auto* function : source.functions())
    if (!function->hasAttr<clang::CUDAGlobalAttr>() && says(source.spelled(function->getBody()), "Idx.")) return std::nullopt;
  return found;
}

}  // namespace kernelift
