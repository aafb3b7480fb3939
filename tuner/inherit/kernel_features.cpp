// See kernel_features.h.
#include "tuner/inherit/kernel_features.h"

#include <algorithm>
#include <cmath>

#include "core/model/kernel/access_pattern.h"

namespace kernelift::tuner {
namespace {

using Access = KernelModel::Access;
using Kind = KernelModel::Object::Kind;

constexpr size_t kFewestValues = 4;  ///< Features that both must know to be compared.
constexpr double kSteepness = 6;     ///< With a mean difference of 0.1 the similarity is 0.55, with 0.3 it is 0.17.

double share(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
/// `amount` on a logarithmic scale, 1 from `most` on.
double scaled(double amount, double most) { return std::min(1.0, std::log2(1 + amount) / std::log2(1 + most)); }

class Reader {
 public:
  Reader(const Geometry& launch, const KernelModel& model) : model_(model), pattern_(launch) {}

  void read(std::map<std::string, double>& into) const {
    size_t stores = 0, atomics = 0, shared = 0, global = 0, unit = 0, uniform = 0, irregular = 0, looped = 0, walks = 0;
    size_t loads = 0, reused = 0, sums = 0, wide = 0, depth = 0;
    for (auto& access : model_.accesses) {
      const Kind kind = model_.objects[access.object].kind;
      stores += access.kind == Access::Kind::Store, atomics += access.kind == Access::Kind::Atomic;
      shared += kind == Kind::Shared, wide += access.bytes >= 8;
      looped += !access.counters.empty(), depth = std::max(depth, access.counters.size());
      if (kind == Kind::Shared || kind == Kind::Local) continue;
      ++global;
      const auto stride = pattern_.step_of(access.offset, "tid.x");
      unit += stride && std::abs(*stride) == access.bytes, uniform += stride == 0, irregular += !stride;
      const bool inner = !access.counters.empty();
      const auto walked = inner ? pattern_.step_of(access.offset, access.counters.back()) : std::nullopt;
      walks += walked && std::abs(*walked) == access.bytes;
      // A sum that is kept in memory: every iteration writes the same element.
      sums += access.kind != Access::Kind::Load && inner && walked == 0;
      if (access.kind != Access::Kind::Load) continue;
      ++loads, reused += inner && !pattern_.axes_without(access.offset).empty();
    }
    const size_t all = model_.accesses.size();
    into["accesses"] = scaled(static_cast<double>(all), 64), into["loop_depth"] = scaled(static_cast<double>(depth), 4);
    into["stores"] = share(stores, all), into["atomics"] = share(atomics, all), into["shared"] = share(shared, all);
    into["wide"] = share(wide, all), into["in_loops"] = share(looped, all);
    into["unit_stride"] = share(unit, global), into["uniform"] = share(uniform, global);
    into["irregular"] = share(irregular, global), into["walks"] = share(walks, global);
    into["sums_in_memory"] = share(sums, global), into["reused"] = share(reused, loads);
    auto of_block = [](auto& barrier) { return !barrier.of_warp; };
    into["block_barriers"] = std::ranges::any_of(model_.barriers, of_block);
    into["warp_exchange"] = !model_.exchanges.empty() || !std::ranges::all_of(model_.barriers, of_block);
    into["gaps"] = !model_.gaps.empty();
  }

 private:
  const KernelModel& model_;
  const AccessPattern pattern_;
};

double axes(const Dim3& size) { return ((size.x > 1) + (size.y > 1) + (size.z > 1)) / 3.0; }

}  // namespace

KernelFeatures KernelFeatures::of(const Geometry& launch, const KernelModel* model, Bound bound) {
  KernelFeatures made;
  auto count = [](const Dim3& size) { return static_cast<double>(size.x) * size.y * size.z; };
  made.values = {{"block_axes", axes(launch.block)},
                 {"grid_axes", axes(launch.grid)},
                 {"threads", scaled(count(launch.block), 1024)},
                 {"blocks", scaled(count(launch.grid), 1 << 20)}};
  if (model) Reader(launch, *model).read(made.values);
  if (bound != Bound::Unknown)
    for (Bound one : {Bound::Memory, Bound::Latency, Bound::Compute})
      made.values[std::string("bound_by_") + tuner::name(one)] = one == bound;
  return made;
}

double KernelFeatures::similarity(const KernelFeatures& other) const {
  double difference = 0;
  size_t compared = 0;
  for (auto& [name, value] : values)
    if (auto at = other.values.find(name); at != other.values.end())
      difference += std::abs(value - at->second), ++compared;
  return compared < kFewestValues ? 0 : std::exp(-kSteepness * difference / static_cast<double>(compared));
}

const MepInstance& heaviest(const Mep& mep) {
  return *std::ranges::max_element(mep.instances, {}, [](auto& one) { return one.weight * one.microseconds; });
}

Json to_json(const KernelFeatures& features) {
  Json json = Json::object();
  for (auto& [name, value] : features.values) json[name] = std::round(value * 1e4) / 1e4;
  return json;
}

KernelFeatures kernel_features_from_json(const Json& json) {
  KernelFeatures made;
  for (auto& [name, value] : json.items()) {
    const double figure = value.get<double>();
    if (!(figure >= 0 && figure <= 1)) malformed("the feature '" + name + "' is not between 0 and 1");
    made.values[name] = figure;
  }
  return made;
}

}  // namespace kernelift::tuner
