// Applying edits, the facts that a MEP gives, and the table of rules.
#include "tuner/source/rules/rule.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <cstring>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/launch_pointers.h"

namespace kernelift::tuner {

std::optional<std::string> apply_edits(const std::string& text, std::vector<TextEdit> edits) {
  std::vector<size_t> order(edits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return edits[a].begin != edits[b].begin ? edits[a].begin < edits[b].begin : a < b;
  });
  std::string out;
  size_t at = 0;
  for (size_t i : order) {
    auto& edit = edits[i];
    if (edit.begin < at || edit.end < edit.begin || edit.end > text.size()) return std::nullopt;
    out.append(text, at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out.append(text, at);
  return out;
}

namespace {

/// Largest number of threads of a block, if all launch sites spell it in numbers; else 0.
uint64_t spelled_threads(const Mep& mep) {
  uint64_t most = 0;
  if (!mep.unseen_launches.empty()) return 0;
  for (auto* site : mep.all_launches()) {
    int64_t threads = 1;
    for (auto& axis : site->block) {
      auto size = axis ? axis->evaluate({}) : Result<int64_t>(usage_error("not known"));
      if (!size.ok() || *size <= 0) return 0;
      threads *= *size;
    }
    most = std::max(most, static_cast<uint64_t>(threads));
  }
  return most;
}

std::optional<bool> spelled_in_whole_warps(const Mep& mep) {
  auto sites = mep.all_launches();
  bool all = !sites.empty() && mep.unseen_launches.empty();
  const Bindings knobs = mep.knob_values();
  for (auto* site : sites) {
    auto& threads = site->block[0];
    auto now = threads ? threads->evaluate(knobs) : Result<int64_t>(usage_error("not known"));
    if (now.ok() && *now % kWarpSize != 0) return false;
    all &= now.ok() && *now > 0 && threads->variables().empty();
  }
  return all ? std::optional(true) : std::nullopt;
}

std::array<bool, 3> spelled_singly(const Mep& mep) {
  std::array<bool, 3> single = {};
  const auto sites = mep.all_launches();
  for (size_t axis = 0; axis < 3; ++axis)
    single[axis] = !sites.empty() && mep.unseen_launches.empty() && std::ranges::all_of(sites, [&](auto* site) {
      auto &blocks = site->grid[axis], &threads = site->block[axis];
      return blocks && blocks->is_constant(1) && threads && threads->is_constant(1);
    });
  return single;
}

/// Sets block_is_knob, and threads_text if all sites compute the same block from knobs alone and as recorded.
void read_block(const Mep& mep, RuleContext& facts) {
  std::optional<Expression> threads;
  const auto sites = mep.all_launches();
  bool visible = !sites.empty() && mep.unseen_launches.empty(), known = visible;
  const Bindings values = mep.knob_values();
  for (auto* site : sites) {
    std::optional<Expression> product;
    for (auto& axis : site->block) {
      if (!axis) {
        known = false;
        continue;
      }
      for (auto& variable : axis->variables()) {
        auto knob = std::find_if(mep.knobs.begin(), mep.knobs.end(), [&](auto& one) { return one.name == variable; });
        facts.block_is_knob |= knob != mep.knobs.end();
        visible &= knob != mep.knobs.end() && knob->in_kernel;
      }
      if (!axis->is_constant(1)) product = product ? *product * *axis : *axis;
    }
    known &= !threads || threads == product;
    threads = product;
  }
  if (!facts.block_is_knob || !known || !visible || !threads) return;
  auto value = threads->evaluate(values);
  bool as_recorded = value.ok() && std::all_of(mep.instances.begin(), mep.instances.end(), [&](auto& instance) {
                       return static_cast<int64_t>(instance.geometry.block.count()) == *value;
                     });
  if (as_recorded) facts.threads_text = threads->cpp({});
}

uint64_t address_at(const std::vector<std::byte>& bytes, size_t offset) {
  uint64_t address = 0;
  if (offset + sizeof address <= bytes.size()) std::memcpy(&address, bytes.data() + offset, sizeof address);
  return address;
}

const MepRegion* region_of(const MepInstance& instance, uint64_t address) {
  for (auto& region : instance.regions)
    if (region.address <= address && address - region.address < region.size) return &region;
  return nullptr;
}

/// Finds parameters that point into the same allocation as another argument; offsets do not matter, because it is not
/// known how far the kernel goes from either pointer. If recorded memory contains pointers, these may lead anywhere, so
/// all pointer parameters are shared.
void find_shared_pointers(const Mep& mep, const MepInstance& instance, std::set<size_t>& shared) {
  bool indirect = std::any_of(instance.regions.begin(), instance.regions.end(),
                              [](auto& region) { return region.pointer_stride > 0; });
  // The beginning of the recorded allocation that contains an address; the address itself if none was recorded.
  auto memory_of = [&](uint64_t address) {
    auto* region = region_of(instance, address);
    return region ? region->allocation() : address;
  };
  std::map<uint64_t, size_t> ways;
  std::set<uint32_t> plain;
  std::vector<std::pair<size_t, uint64_t>> pointers;
  for (size_t p = 0; p < mep.parameters.size() && p < instance.parameters.size(); ++p) {
    if (mep.parameters[p].pointee.empty()) continue;
    plain.insert(instance.parameters[p].offset);
    if (uint64_t address = address_at(instance.arguments, instance.parameters[p].offset)) {
      pointers.emplace_back(p, memory_of(address));
      ++ways[memory_of(address)];
    }
  }
  for (uint32_t offset : instance.argument_pointers)  // Also pointers in structs passed by value.
    if (!plain.contains(offset)) ++ways[memory_of(address_at(instance.arguments, offset))];
  for (auto& [parameter, memory] : pointers)
    if (indirect || ways[memory] > 1) shared.insert(parameter);
}

constexpr int kOrigins = 4;  ///< Depth of pointers derived from pointers that is examined.

/// The pointers that `pointer` derives from: a for `float *row = a + i * n;`, and a function's arguments for its
/// parameter. `pointer` itself if nothing is known.
std::set<const clang::VarDecl*> origins(const KernelSource& source, const clang::VarDecl* pointer,
                                        int depth = kOrigins) {
  std::set<const clang::VarDecl*> found;
  auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(pointer);
  if (depth == 0 || !pointer->hasLocalStorage() ||
      !(pointer->getType()->isPointerType() || pointer->getType()->isReferenceType()))
    return {pointer};
  auto from = [&](const clang::Expr* value) {
    for (auto* variable : variables_in(value))
      if (variable != pointer && !variable->getType()->isArithmeticType())
        found.merge(origins(source, variable, depth - 1));
  };
  if (!parameter && pointer->getInit()) from(pointer->getInit());
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      auto* set = llvm::dyn_cast<clang::BinaryOperator>(statement);
      if (set && set->getOpcode() == clang::BO_Assign && named_variable(set->getLHS()) == pointer) from(set->getRHS());
      auto* call = parameter ? llvm::dyn_cast<clang::CallExpr>(statement) : nullptr;
      auto* callee = call ? call->getDirectCallee() : nullptr;
      unsigned number = parameter ? parameter->getFunctionScopeIndex() : 0;
      const clang::FunctionDecl* defined = nullptr;
      if (callee && callee->hasBody(defined) && number < defined->getNumParams() &&
          defined->getParamDecl(number) == parameter && number < call->getNumArgs())
        from(call->getArg(number));
      return true;
    });
  if (found.empty()) found.insert(pointer);
  return found;
}

}  // namespace

RuleContext RuleContext::of(const Mep& mep) {
  RuleContext facts;
  facts.kernel = mep.kernel_name;
  facts.hip = mep.language == "hip";
  if (mep.slice_mode == "whole-unit")
    for (size_t line = 0; line < mep.origins.size(); ++line)
      if (std::ranges::any_of(mep.functions, [&](auto& function) {
            auto& origin = mep.origins[line];
            return function.file == origin.file && function.line <= origin.line && origin.line <= function.end_line;
          }))
        facts.own_lines.insert(line);
  read_block(mep, facts);
  facts.most_threads = spelled_threads(mep);
  facts.whole_warps = spelled_in_whole_warps(mep);
  facts.single = spelled_singly(mep);
  facts.shared_pointers = pointers_shared_at_sites(mep);
  facts.launches = mep.instances.size();
  facts.one_after_other = !mep.instances.empty() && std::ranges::all_of(mep.instances, [](auto& instance) {
    return instance.settings.known && instance.settings.stream == "default" && !instance.settings.programmatic;
  });
  for (auto& instance : mep.instances) {
    if (std::find(facts.geometries.begin(), facts.geometries.end(), instance.geometry) == facts.geometries.end())
      facts.geometries.push_back(instance.geometry);
    find_shared_pointers(mep, instance, facts.shared_pointers);
    for (size_t p = 0; p < mep.parameters.size() && p < instance.parameters.size(); ++p) {
      if (mep.parameters[p].pointee.empty()) continue;
      uint64_t address = address_at(instance.arguments, instance.parameters[p].offset);
      if (auto* region = region_of(instance, address))
        facts.extents[p] = std::max(facts.extents[p], region->address + region->size - address);
    }
  }
  return facts;
}

RuleContext RuleContext::launched_as(const Candidate& candidate) const {
  RuleContext facts = *this;
  if (candidate.launches.empty()) return facts;
  auto& launch = candidate.launches[0];
  for (auto& geometry : facts.geometries) {
    // A grid may be computed from arguments, which are not known here; the block counts.
    CandidateLaunch blocks = CandidateLaunch::as_recorded(launch.kernel);
    std::ranges::copy(launch.block, blocks.block);
    if (auto now = launch.evaluate(geometry, candidate.values); now.ok()) geometry = *now;
    else if (now = blocks.evaluate(geometry, candidate.values); now.ok()) geometry = *now;
  }
  for (int axis = 0; axis < 3; ++axis)
    facts.single[static_cast<size_t>(axis)] &=
        launch.grid[axis].is_variable(kGridVariables[axis]) && launch.block[axis].is_variable(kBlockVariables[axis]);
  bool resized = false;
  for (int axis = 0; axis < 3; ++axis) resized |= !launch.block[axis].is_variable(kBlockVariables[axis]);
  if (!resized) return facts;
  facts.block_is_knob = false, facts.threads_text.clear(), facts.most_threads = 0;
  auto threads = launch.block[0].evaluate(candidate.values);
  facts.whole_warps = threads.ok() ? std::optional(*threads % kWarpSize == 0) : std::nullopt;
  return facts;
}

bool RuleContext::is_unaliased(const KernelSource& source, const clang::VarDecl* pointer,
                               const clang::Stmt* within) const {
  auto mine = origins(source, pointer);
  for (auto* other : variables_in(within)) {
    if (other == pointer || other->getType()->isArithmeticType()) continue;
    for (auto* origin : origins(source, other))
      if (mine.contains(origin)) return false;
  }
  if (shared_pointers.empty()) return true;
  auto* kernel = source.kernel(this->kernel);
  return kernel && std::all_of(mine.begin(), mine.end(), [&](auto* origin) {
           auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(origin);
           unsigned number = parameter ? parameter->getFunctionScopeIndex() : 0;
           return parameter && number < kernel->getNumParams() && kernel->getParamDecl(number) == parameter &&
                  !shared_pointers.contains(number);
         });
}

Premise RuleContext::no_overlap(const std::set<std::string>& arrays) const {
  return Premise::no_overlap(arrays, launches);
}

Premise RuleContext::premise(Expression condition) const { return Premise::holds(std::move(condition), launches); }

void Opportunity::multiply_grid(int axis, int64_t by) {
  const char* size = kGridVariables[axis];
  launch.insert_or_assign(size, Expression::variable(size) * Expression::constant(by));
}

void Opportunity::divide_grid(int axis, int64_t by) {
  const char* size = kGridVariables[axis];
  launch.insert_or_assign(size, ceil_div(Expression::variable(size), Expression::constant(by)));
}

std::vector<Opportunity> opportunities(const Rule& rule, const KernelSource& source, const RuleContext& facts) {
  std::vector<Bindings> choices{{}};
  for (auto& parameter : rule.parameters) {
    std::vector<Bindings> longer;
    for (auto& choice : choices)
      for (int64_t value : parameter.values) {
        longer.push_back(choice);
        longer.back()[parameter.name] = value;
      }
    choices = std::move(longer);
  }
  std::vector<Opportunity> found;
  for (auto& choice : choices)
    for (auto& opportunity : rule.find(source, facts, choice)) {
      opportunity.values = choice;
      found.push_back(std::move(opportunity));
    }
  return found;
}

const std::vector<const Rule*>& all_rules() {
  static const std::vector<const Rule*> rules = {&kScalarPromotion,  &kSharedTiling,         &kStencilRegisterTiling,
                                                 &kSlidingWindow,    &kStencilSharedTiling,  &kLoopToThreads,
                                                 &kLoopToGrid,       &kBlockReduction,       &kThreadToWarp,
                                                 &kSplitK,           &kWarpReduction,        &kRegisterPrivatisation,
                                                 &kWarpAggregation,  &kSharedPrivatisation,  &kUnrollAndJam,
                                                 &kBlockMerging,     &kThreadCoarsening,     &kRestrictPointers,
                                                 &kFloatLiterals,    &kReciprocal,           &kModuloToCompare,
                                                 &kNarrowDivision,   &kVectorisedAccesses,   &kStreamingAccesses,
                                                 &kUnroll,           &kMultipleAccumulators, &kFastMath,
                                                 &kSwapBlockAxes,    &kGridStride,           &kBlockCoarsening,
                                                 &kDoubleToFloat,    &kLaunchBounds,         &kPadShared,
                                                 &kConstantToGlobal, &kStaticTable};
  return rules;
}

const Rule* find_rule(std::string_view name) {
  auto found = std::ranges::find_if(all_rules(), [&](const Rule* rule) { return rule->name == name; });
  return found == all_rules().end() ? nullptr : *found;
}

}  // namespace kernelift::tuner
