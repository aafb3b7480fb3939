// block_merging: each block does the work of K neighbouring blocks, interleaved statement by statement, in the same
// loops and between the same barriers. Work that they share is done once: a tile of shared memory that depends on
// blockIdx.x alone is loaded once for all K blocks along y, and read once into a register for K products.
//   int row = blockIdx.y * 16 + ty;  tile[ty][tx] = b[k * n + column];  __syncthreads();
//   sum += a[row * n + k] * tile[k][tx];
// becomes, for K = 2, with block_y and block_y_1 in place of blockIdx.y,
//   int row = block_y * 16 + ty;  int row_1 = block_y_1 * 16 + ty;  tile[ty][tx] = …;  __syncthreads();
//   sum += …;  sum_1 += …;
// Shared arrays whose content differs between the neighbours are repeated, too. The grid keeps its size, from which the
// kernel learns the original number of blocks: blocks past the last group have no work, and an incomplete group is
// executed one block after the other. Blocks of an ordinary launch are not ordered, so their work may be done in any
// order within one block.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "core/model/knob/knob_text.h"
#include "core/model/launch/limits.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/jammed_copies.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kMostMerged = 8;
constexpr size_t kLongestMerged = 8000;  ///< Characters.

const clang::VarDecl* shared_array(const clang::Stmt* statement) {
  auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
  auto* variable = declaration && declaration->isSingleDecl()
                       ? llvm::dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                       : nullptr;
  return variable && variable->hasAttr<clang::CUDASharedAttr>() ? variable : nullptr;
}

class Merger {
 public:
  Merger(const KernelSource& source, const clang::CompoundStmt* body, std::vector<std::pair<int, JamAxis>> axes)
      : source_(source), body_(body), axes_(std::move(axes)), copies_(source, jam_axes(axes_)) {}
  std::optional<TextEdit> rewrite();

 private:
  static std::vector<JamAxis> jam_axes(const std::vector<std::pair<int, JamAxis>>& axes) {
    std::vector<JamAxis> all;
    for (auto& [axis, neighbour] : axes) all.push_back(neighbour);
    return all;
  }
  /// Whether shared memory is accessed element by element only, so that every write shows its array, and all copies
  /// fit.
  bool shared_memory_is_plain() const;
  /// Writes the declarations of shared arrays and their copies, which both branches of the rewritten text use.
  bool declare_shared(const std::string& indent, std::string& out, std::vector<TextEdit>& moved) const;
  bool add_remainder_loop(const std::vector<TextEdit>& moved, const std::string& indent, std::string& out) const;
  std::string name_of(size_t axis, const std::string& number) const;

  const KernelSource& source_;
  const clang::CompoundStmt* body_;
  std::vector<std::pair<int, JamAxis>> axes_;
  JammedCopies copies_;
  std::set<const clang::VarDecl*>
      parameters_;  ///< Parameters that the text changes, such as pointers that it advances.
  size_t begin_ = 0, end_ = 0;
};

bool Merger::shared_memory_is_plain() const {
  bool plain = true, grows = false;
  uint64_t bytes = 0;
  walk(body_, [&](const clang::Stmt* statement) {
    if (auto* variable = shared_array(statement);
        variable && !variable->hasExternalStorage() && !variable->getType()->isDependentType()) {
      auto dependent = copies_.dependence().dependents().find(variable);
      size_t copies =
          dependent == copies_.dependence().dependents().end() ? 1 : copies_.choices(dependent->second).size();
      grows |= copies > 1;
      bytes += copies * static_cast<uint64_t>(source_.context().getTypeSizeInChars(variable->getType()).getQuantity());
    }
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable || !variable->hasAttr<clang::CUDASharedAttr>()) return plain;
    if (variable->hasExternalStorage()) plain &= !copies_.dependence().dependents().contains(variable);
    const clang::Stmt* up = reference;
    auto* value = llvm::cast<clang::Expr>(static_cast<const clang::Stmt*>(reference));
    while ((up = source_.parent(up)) &&
           llvm::isa<clang::ImplicitCastExpr, clang::ParenExpr, clang::ArraySubscriptExpr>(up))
      if (!llvm::isa<clang::ImplicitCastExpr>(up)) value = llvm::cast<clang::Expr>(up);
    plain &= !value->getType()->isArrayType() && !value->getType()->isPointerType();
    // `atomicAdd(&counts[i], 1)` changes the element that it names; other addresses may be used for any element.
    auto* address = llvm::dyn_cast_or_null<clang::UnaryOperator>(up);
    if (address && address->getOpcode() == clang::UO_AddrOf)
      plain &= llvm::isa_and_nonnull<clang::CallExpr>(source_.parent(address));
    return plain;
  });
  return plain && bytes <= kOrdinarySharedBytes && !(grows && has_dynamic_shared(source_));
}

bool Merger::declare_shared(const std::string& indent, std::string& out, std::vector<TextEdit>& moved) const {
  std::vector<std::string> declared;  // Names declared behind begin_, which moved declarations must not use.
  for (auto* statement : body_->body()) {
    auto* variable = shared_array(statement);
    auto range = source_.span(statement);
    auto end = range ? source_.statement_end(statement) : std::nullopt;
    if (!end) return false;
    bool late = range->begin >= begin_;
    if (!variable || variable->hasExternalStorage()) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement); declaration && late)
        for (auto* one : declaration->decls())
          if (auto* named = llvm::dyn_cast<clang::NamedDecl>(one)) declared.push_back(named->getNameAsString());
      continue;
    }
    std::string text = source_.text().substr(range->begin, *end - range->begin);
    if (late && std::any_of(declared.begin(), declared.end(), [&](auto& name) { return mentions_word(text, name); }))
      return false;
    if (late) moved.push_back({range->begin - begin_, *end - begin_, ""});
    auto dependent = copies_.dependence().dependents().find(variable);
    bool first = true;
    for (auto& choice : copies_.choices(dependent == copies_.dependence().dependents().end() ? 0 : dependent->second)) {
      if (!first || late) out += copies_.renamed(text, choice) + "\n" + indent;
      first = false;
    }
  }
  return true;
}

std::string Merger::name_of(size_t axis, const std::string& number) const {
  return axes_[axis].second.block + " * " + std::to_string(axes_[axis].second.count) +
         (number == "0" ? "" : " + " + number);
}

/// Writes the original text in a loop over the neighbours, with barriers between the iterations, which use the same
/// shared memory. It seldom runs, so neither it nor its inner loops are unrolled.
bool Merger::add_remainder_loop(const std::vector<TextEdit>& moved, const std::string& indent, std::string& out) const {
  std::string iteration = source_.fresh_name("block_iteration"), inner = indent + source_.step(), blocks;
  int64_t count = 1;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    auto& [number, neighbour] = axes_[axis];
    std::string mine = count > 1 ? "(" + iteration + " / " + std::to_string(count) + ")" : iteration;
    if (axis + 1 < axes_.size()) mine = "(" + mine + " % " + std::to_string(neighbour.count) + ")";
    blocks += inner + "const unsigned " + neighbour.name + " = " + name_of(axis, mine) + ";\n" + inner + "if (" +
              neighbour.name + " >= gridDim." + kAxisNames[number] + ") continue;\n";
    count *= neighbour.count;
  }
  auto names = copies_.names_for(copies_.choices(0).front());
  for (auto* parameter : parameters_) {
    std::string name = parameter->getName().str(), copy = source_.fresh_name(name + "_of_block");
    blocks += inner + "auto " + copy + " = " + name + ";\n";
    names[name] = copy;
  }
  auto text = apply_edits(source_.text().substr(begin_, end_ - begin_), moved);
  if (!text) return false;
  *text = with_names(*text, names);
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back()))) text->pop_back();
  out += "#pragma unroll 1\n" + indent + "for (int " + iteration + " = 0; " + iteration + " < " +
         std::to_string(count) + "; ++" + iteration + ") {\n" + blocks + inner + "__syncthreads();\n" + inner + *text +
         "\n" + indent + "}\n";
  return true;
}

std::optional<TextEdit> Merger::rewrite() {
  auto close = source_.offset(body_->getRBracLoc());
  std::vector<const clang::Stmt*> all(body_->body_begin(), body_->body_end());
  copies_.dependence().propagate(all, {});
  // The first statement that depends on the block's index; shared arrays may be declared before it.
  auto first = std::find_if(all.begin(), all.end(), [&](auto* statement) {
    return copies_.dependence().axes_of(statement) != 0 && !shared_array(statement);
  });
  if (first == all.end()) return std::nullopt;
  first = all.begin() + static_cast<long>(first_repeatable(all, static_cast<size_t>(first - all.begin())));
  auto start = source_.span(*first);
  if (!close || !start || *close - start->begin > kLongestMerged) return std::nullopt;
  parameters_ = changed_parameters({first, all.end()}, 0);
  begin_ = start->begin, end_ = *close;
  for (auto& [variable, axes] : copies_.dependence().dependents())
    if (!variable->hasLocalStorage() && !variable->hasAttr<clang::CUDASharedAttr>()) return std::nullopt;
  if (!shared_memory_is_plain() || waits_by_thread(source_, body_, has_block_barrier) ||
      !copies_.names_can_be_copied(body_, {begin_, end_}))
    return std::nullopt;
  std::vector<const clang::Stmt*> statements(first, all.end());
  std::erase_if(statements, [](auto* statement) {
    return shared_array(statement) && !shared_array(statement)->hasExternalStorage();
  });

  std::string indent = source_.indentation(begin_), out, whole;
  std::vector<TextEdit> moved;
  if (!declare_shared(indent, out, moved)) return std::nullopt;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    auto& [number, neighbour] = axes_[axis];
    for (auto& choice : copies_.choices(1U << axis))
      out += "const unsigned " + copies_.renamed(neighbour.block, choice) + " = " +
             name_of(axis, std::to_string(choice[axis])) + ";\n" + indent;
    whole += (whole.empty() ? "" : " && ") + name_of(axis, std::to_string(neighbour.count - 1)) + " < gridDim." +
             kAxisNames[number];
  }
  for (auto* parameter : parameters_) {
    auto dependent = copies_.dependence().dependents().find(parameter);
    if (dependent == copies_.dependence().dependents().end()) continue;
    std::string name = parameter->getName().str();
    for (auto& choice : copies_.choices(dependent->second))
      if (std::string copy = copies_.renamed(name, choice); copy != name)
        out += "auto " + copy + " = " + name + ";\n" + indent;
  }
  std::vector<JammedCopies::Piece> pieces;
  if (!copies_.plan(statements, {}, indent + source_.step(), pieces)) return std::nullopt;
  out += "if (" + whole + ") {\n" + copies_.text(pieces);
  out += indent + "} else {\n";
  if (!add_remainder_loop(moved, indent + source_.step(), out)) return std::nullopt;
  std::string closing = source_.first_on_line(end_) ? source_.indentation(end_) : "";
  return TextEdit{begin_, end_, out + indent + "}\n" + closing};
}

std::vector<Opportunity> find_block_merging(const KernelSource& source, const RuleContext& facts,
                                            const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  // Kernels without barriers and shared memory are left to unroll_and_jam.
  bool together = body && (has_barrier(body) || source.spelled(body).find("__shared__") != std::string::npos);
  if (!together || rests_on_ended_lanes(source, body, facts) || !kernel->getReturnType()->isVoidType() ||
      facts.geometries.empty() || others_read_indices(source) || keeps_addresses(source, body) ||
      !may_interleave(source, body, {"blockIdx"}))
    return {};
  const int64_t wanted[] = {values.at("x"), values.at("y"), values.at("z")};
  std::vector<std::pair<int, JamAxis>> axes;
  Opportunity found;
  int64_t neighbours = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (wanted[axis] <= 1) continue;
    bool enough = std::any_of(facts.geometries.begin(), facts.geometries.end(), [&](auto& geometry) {
      return along(geometry.grid, axis) >= wanted[axis] && !geometry.cooperative;
    });
    std::string name = kAxisNames[axis], block = "blockIdx." + name;
    if (!enough || source.spelled(body).find(block) == std::string::npos) return {};
    axes.push_back({axis, {wanted[axis], nullptr, block, source.fresh_name("block_" + name)}});
    neighbours *= wanted[axis];
    found.place += (found.place.empty() ? "along " : ", ") + name;
  }
  if (axes.empty() || neighbours > kMostMerged) return {};
  auto edit = Merger(source, body, axes).rewrite();
  if (!edit) return {};
  found.edits.push_back(std::move(*edit));
  found.effects = {idle_blocks(neighbours)};
  return {found};
}

}  // namespace

const Rule kBlockMerging = {"block_merging",
                            "let each block do the work of several neighbouring blocks, between the same barriers",
                            "barriers or shared memory; no return; the block's index is read in the kernel itself",
                            {{"x", {1, 2, 4}}, {"y", {1, 2, 4}}, {"z", {1, 2, 4}}},
                            find_block_merging,
                            {Bound::Compute, Bound::Latency}};

}  // namespace kernelift::tuner
