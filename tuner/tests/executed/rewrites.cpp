// See rewrites.h.
#include "tuner/tests/executed/rewrites.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <algorithm>
#include <set>

#include "core/compiler/frontend.h"
#include "core/model/launch/limits.h"
#include "tuner/source/rule_proposer.h"
#include "tuner/source/rules/for_loops.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
namespace {

constexpr uint64_t kRecordedBytes = 1024;  ///< Of every array, by the recording: other launches may have more.

void add(const Rule& rule, const std::vector<Opportunity>& opportunities, const KernelSource& source,
         const RuleContext& facts, const Candidate& from, std::set<Hash>& seen, std::vector<Rewrite>& found) {
  for (auto& opportunity : opportunities) {
    Candidate base = from;
    base.source = source.text();
    auto candidate = apply(base, rule, opportunity, facts.kernel);
    if (candidate && seen.insert(candidate->key()).second) found.push_back({rule.name, std::move(*candidate)});
  }
}

}  // namespace

std::string kernel_name(const std::string& source) {
  // A declaration may come before the definition, with the same name.
  const size_t end = source.find('(', source.find("void", source.find("__global__")));
  const size_t begin = source.find_last_of(" \n", end) + 1;
  return source.substr(begin, end - begin);
}

Bindings recorded_sizes(const legality::SuiteKernel& kernel, const KernelMemory& memory) {
  const auto& block = kernel.launch.block;
  Bindings sizes;
  for (auto& name : memory.sizes()) sizes[name] = 2 * std::max({block.x, block.y, block.z});
  for (auto& [name, value] : kernel.recorded) sizes[name] = value;
  return sizes;
}

std::optional<Geometry> geometry_at(const legality::LaunchShape& launch, const Bindings& sizes) {
  Geometry geometry{{}, launch.block};
  for (int axis = 0; axis < 3; ++axis) {
    auto blocks = launch.grid[axis]->evaluate(sizes);
    if (!blocks.ok() || *blocks <= 0 || *blocks > along(kLargestGrid, axis)) return std::nullopt;
    along(geometry.grid, axis) = static_cast<uint32_t>(*blocks);
  }
  return geometry;
}

Mep recorded_mep(const legality::SuiteKernel& kernel, const KernelSource& source, const KernelMemory& memory,
                 const ExecutedText& original) {
  Mep mep;
  mep.kernel_name = kernel_name(kernel.text);
  LaunchSite site;
  std::map<std::string, Expression> spelled;
  for (auto& [variable, name] : kernel.names) spelled.emplace(variable, Expression::variable(name));
  for (int axis = 0; axis < 3; ++axis) {
    site.grid[axis] = kernel.launch.grid[axis]->substitute(spelled);
    site.block[axis] = Expression::constant(along(kernel.launch.block, axis));
  }
  MepInstance instance;
  const Bindings sizes = recorded_sizes(kernel, memory);
  if (auto geometry = geometry_at(kernel.launch, sizes)) instance.geometry = *geometry;
  instance.arguments = memory.arguments(original.kernel(), sizes);
  for (auto* parameter : source.kernel(mep.kernel_name)->parameters()) {
    const auto type = parameter->getType().getCanonicalType();
    ScannedParameter scanned;
    scanned.name = parameter->getNameAsString(), scanned.type = type.getAsString();
    if (type->isPointerType()) scanned.pointee = type->getPointeeType().getUnqualifiedType().getAsString();
    else if (type->isArithmeticType()) scanned.scalar = type.getUnqualifiedType().getAsString();
    const auto& place = original.kernel().parameters[mep.parameters.size()];
    instance.parameters.push_back({place.offset, place.size});
    site.argument_text.push_back(scanned.name);
    if (type->isPointerType()) {
      MepRegion region;
      std::memcpy(&region.address, instance.arguments.data() + place.offset, sizeof region.address);
      region.size = kRecordedBytes;
      instance.regions.push_back(region);
    }
    mep.parameters.push_back(std::move(scanned));
  }
  mep.launches = {site};
  mep.instances = {instance};
  return mep;
}

std::vector<Rewrite> rewrites(const Mep& mep, const Candidate& from) {
  std::vector<Rewrite> found;
  std::set<Hash> seen;
  const auto arguments = frontend_arguments({});
  auto source = KernelSource::parse(from.source, arguments);
  KERNELIFT_ASSERT(source.ok(), "rewritten texts parse");
  const auto usual =
      UsualForm::of(*source, mep.kernel_name, [&](auto& text) { return KernelSource::parse(text, arguments); });
  RuleContext facts = RuleContext::of(mep).launched_as(from);
  facts.one_after_other = true;
  for (bool keep_grid : {false, true}) {
    facts.keep_grid = keep_grid;
    for (auto* rule : all_rules()) {
      const auto plain = opportunities(*rule, *source, facts);
      add(*rule, plain, *source, facts, from, seen, found);
      if (usual) add(*rule, usual->further(*rule, facts, plain), usual->source, facts, from, seen, found);
    }
  }
  const MepSpace space = MepSpace::create(mep, from);
  std::vector<Point> points{{}};
  for (auto& parameter : space.space().parameters()) {
    std::vector<Point> longer;
    for (auto& point : points)
      for (uint16_t value = 0; value < parameter.values.size(); ++value) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  seen.insert(from.key());
  for (auto& point : points) {
    if (!space.space().valid(point)) continue;
    Candidate candidate = space.materialise(point);
    if (seen.insert(candidate.key()).second) found.push_back({kBlockSize, std::move(candidate)});
  }
  return found;
}

legality::LaunchShape shape_of(const Candidate& candidate, const legality::LaunchShape& launch) {
  legality::LaunchShape shape = launch;
  if (candidate.launches.empty()) return shape;
  std::map<std::string, Expression> known;
  for (int axis = 0; axis < 3; ++axis) {
    known.emplace(kGridVariables[axis], *launch.grid[axis]);
    known.emplace(kBlockVariables[axis], Expression::constant(along(launch.block, axis)));
  }
  for (auto& [name, value] : candidate.values) known.insert_or_assign(name, Expression::constant(value));
  for (int axis = 0; axis < 3; ++axis) {
    shape.grid[axis] = candidate.launches[0].grid[axis].substitute(known).simplified();
    auto threads = candidate.launches[0].block[axis].substitute(known).evaluate({});
    KERNELIFT_ASSERT(threads.ok(), "blocks are numbers here");
    along(shape.block, axis) = static_cast<uint32_t>(*threads);
  }
  return shape;
}

}  // namespace kernelift::tuner
