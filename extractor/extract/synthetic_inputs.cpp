// See synthetic_inputs.h. Parameters are laid out by the C rules that device and host share: each at a multiple of its
// size.
#include "extractor/extract/synthetic_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/model/element.h"
#include "core/model/launch/limits.h"
#include "extractor/extract/region_types.h"

namespace kernelift::extractor {
namespace {

constexpr int64_t kOneSize = 1 << 16;  ///< What a lone integer parameter becomes.
constexpr int64_t kOneOfSeveral = 64;  ///< What each of several becomes: products of three stay small.
constexpr uint64_t kFirstAddress =
    0x200800000000;  ///< Where no application's memory is on the CPU device; any would do.
constexpr uint64_t kRegionSpacing = 64 << 20;
constexpr uint32_t kDefaultBlock = 128;

/// Numbers that few kernels choke on: floats in (0, 1), integers that are valid indices.
std::vector<std::byte> plausible(const ElementType& type, uint64_t count, int64_t below, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count * type.width);
  for (uint64_t i = 0; i < count; ++i) {
    double real = double(random() >> 11) / double(uint64_t(1) << 53);
    uint64_t integer = random() % uint64_t(std::max<int64_t>(below, 1));
    float narrow = float(real);
    uint16_t half = uint16_t(0x3800 + (random() & 0x3ff));  // 0.5 to 1 as a half.
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    uint16_t bfloat = uint16_t(bits >> 16);
    const void* from = &integer;
    if (type.kind == ElementType::Kind::Float) from = &narrow;
    if (type.kind == ElementType::Kind::Double) from = &real;
    if (type.kind == ElementType::Kind::Half) from = &half;
    if (type.kind == ElementType::Kind::Bfloat16) from = &bfloat;
    if (type.kind == ElementType::Kind::Bool) integer &= 1;
    std::memcpy(bytes.data() + i * type.width, from, type.width);
  }
  return bytes;
}

/// The launch's axes with every unknown name standing for `size`; the default where that gives nothing sensible.
uint32_t axis(const std::optional<Expression>& expression, const Bindings& knobs, int64_t size, uint32_t fallback,
              int64_t most) {
  if (!expression) return fallback;
  Bindings bound = knobs;
  for (auto& name : expression->variables()) bound.try_emplace(name, size);
  auto value = expression->evaluate(bound);
  return value.ok() && *value >= 1 && *value <= most ? uint32_t(*value) : fallback;
}

}  // namespace

Result<MepInputs> make_inputs(const ScannedKernel& kernel, const std::vector<LaunchSite>& launches,
                              const std::vector<Knob>& knobs, const std::filesystem::path& folder) {
  MepInputs inputs;
  MepInstance instance;
  instance.id = "synthetic";
  int64_t integers = std::count_if(kernel.parameters.begin(), kernel.parameters.end(), [](auto& parameter) {
    return !parameter.scalar.empty() && !ElementType::parse(parameter.scalar).is_float();
  });
  int64_t size = integers > 1 ? kOneOfSeveral : kOneSize;
  Bindings bound;
  for (auto& knob : knobs) bound[knob.name] = knob.value;
  LaunchSite site = launches.empty() ? LaunchSite{} : launches.front();
  constexpr int64_t kMostBlocks = 1 << 20;
  auto& g = instance.geometry;
  g.block = {axis(site.block[0], bound, kDefaultBlock, kDefaultBlock, kMostThreadsPerBlock),
             axis(site.block[1], bound, 1, 1, kMostThreadsPerBlock),
             axis(site.block[2], bound, 1, 1, kMostThreadsPerBlock)};
  if (kernel.max_threads > 0 && g.block.count() > uint64_t(kernel.max_threads))
    g.block = {uint32_t(kernel.max_threads), 1, 1};
  if (g.block.count() > kMostThreadsPerBlock) g.block = {kDefaultBlock, 1, 1};
  uint32_t blocks = uint32_t((size + g.block.x - 1) / g.block.x);
  g.grid = {axis(site.grid[0], bound, size, blocks, kMostBlocks), axis(site.grid[1], bound, size, 1, kMostBlocks),
            axis(site.grid[2], bound, size, 1, kMostBlocks)};
  if (g.grid.count() > uint64_t(kMostBlocks)) g.grid = {blocks, 1, 1};
  g.shared_bytes = axis(site.shared, bound, size, 0, kOrdinarySharedBytes);

  uint64_t elements = g.threads();
  for (int64_t product = size, i = 0; i < std::min<int64_t>(integers, 3); ++i, product *= size)
    elements = std::max<uint64_t>(elements, product);
  elements *= 2;  // A halo, a bin past the end.
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    auto& parameter = kernel.parameters[i];
    std::vector<std::byte> value;
    if (!parameter.pointee.empty()) {
      std::string element = element_of(parameter.pointee, kernel);
      if (element == "pointer" || element.starts_with("{") ||
          (element == "byte" && parameter.pointee.starts_with("struct ")))
        return refused("inputs of " + kernel.name + " cannot be made up: parameter " + parameter.name + " points to " +
                       parameter.pointee + "; record a run of the application instead");
      auto type = ElementType::parse(element);
      // Vector types are runs of scalars: four cover the widest.
      auto bytes = plausible(type, elements * (element == parameter.pointee ? 1 : 4), size, i + 1);
      uint64_t address = kFirstAddress + i * kRegionSpacing;
      if (bytes.size() > kRegionSpacing)
        return refused("inputs of " + kernel.name + " cannot be made up: they would take more than 64 MiB each");
      MepRegion region{address, bytes.size(), MemoryKind::Device, "", "", Origin::of_argument(i), int(i), element};
      KERNELIFT_ASSIGN(region.before, Mep::store(folder, bytes));
      instance.regions.push_back(std::move(region));
      value.resize(sizeof address);
      std::memcpy(value.data(), &address, sizeof address);
    } else if (!parameter.scalar.empty()) {
      auto type = ElementType::parse(parameter.scalar);
      value.resize(type.width);
      uint64_t integer = type.kind == ElementType::Kind::Bool ? 1 : uint64_t(size);
      if (type.is_float()) value = plausible(type, 1, 1, i + 1);
      else std::memcpy(value.data(), &integer, type.width);
    } else {
      return refused("inputs of " + kernel.name + " cannot be made up: parameter " + parameter.name + " is a " +
                     parameter.type + "; record a run of the application instead");
    }
    while (instance.arguments.size() % value.size()) instance.arguments.push_back(std::byte{0});
    instance.parameters.push_back({uint32_t(instance.arguments.size()), uint32_t(value.size())});
    instance.arguments.insert(instance.arguments.end(), value.begin(), value.end());
  }
  inputs.limits.push_back("Sizes, geometry and memory are made up: integers are " + std::to_string(size) +
                          ", buffers have " + std::to_string(elements) +
                          " elements. Timings say nothing about the application.");
  inputs.instances.push_back(std::move(instance));
  return inputs;
}

}  // namespace kernelift::extractor
