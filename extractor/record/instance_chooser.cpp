// See instance_chooser.h.
#include "extractor/record/instance_chooser.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kernelift::record {
namespace {

constexpr uint64_t kSpread = 8;  ///< Launches 1, 8, 64… of a geometry are looked at: few, and over the whole run.
constexpr size_t kExactGeometries = 8;  ///< Told apart exactly; further ones by kind.
constexpr uint64_t kTowers = 4;         ///< A first launch of so many times the threads is captured at once.
constexpr size_t kMostClusters = 256;   ///< Further kinds join no cluster; their time still counts.
constexpr size_t kMostScalars = 64;     ///< Distinct scalar arguments told apart per geometry (a time step is endless).
constexpr double kMuchOfTheTime = 0.25;  ///< Share of a kernel's time that earns a duration class an instance.
constexpr double kClearlyMore = 2;       ///< A geometry without an instance must take this much more to displace one.
constexpr uint64_t kMostSearched = 8;    ///< Further captures while none has changed anything in memory.
constexpr uint64_t kEndlessScalars = ~uint64_t(0);
/// Of memory of all instances of a kernel. Every candidate is run on each of them, which puts its memory back and
/// compares it.
constexpr uint64_t kMostBytes = uint64_t(4) << 30;
constexpr uint64_t kFewest = 2;  ///< Instances, however large.

/// Durations within a factor of two are one class.
int duration_class(double microseconds) { return microseconds > 0 ? std::ilogb(microseconds) : -64; }

bool power_of_spread(uint64_t ordinal) {
  while (ordinal > 1 && ordinal % kSpread == 0) ordinal /= kSpread;
  return ordinal == 1;
}

}  // namespace

Geometry InstanceChooser::kind_of(const Geometry& geometry) const {
  if (clusters_.size() < kExactGeometries || clusters_.contains(geometry)) return geometry;
  Geometry kind = geometry;
  for (uint32_t* blocks : {&kind.grid.x, &kind.grid.y, &kind.grid.z}) *blocks = std::bit_floor(*blocks);
  return kind;
}

std::vector<const InstanceChooser::Instance*> InstanceChooser::instances_of(const Geometry& kind) const {
  std::vector<const Instance*> found;
  for (auto& instance : instances_)
    if (instance.kind == kind) found.push_back(&instance);
  return found;
}

uint64_t InstanceChooser::slots() const {
  uint64_t largest = 1;
  for (auto& instance : instances_) largest = std::max(largest, instance.bytes);
  return std::min(slots_, std::max(kFewest, kMostBytes / largest));
}

double InstanceChooser::time_of(const Geometry& kind) const {
  auto found = clusters_.find(kind);
  if (found != clusters_.end() && found->second.total_us > 0) return found->second.total_us;
  auto largest = clusters_.end();
  for (auto known = clusters_.begin(); known != clusters_.end(); ++known)
    if (known->second.total_us > 0 && (largest == clusters_.end() || known->first.threads() > largest->first.threads()))
      largest = known;
  if (largest == clusters_.end()) return 0;
  double each = largest->second.total_us / double(largest->second.launches);
  return each * double(kind.threads()) / double(std::max<uint64_t>(1, largest->first.threads()));
}

bool InstanceChooser::towers_over_all(const Geometry& geometry) const {
  return std::all_of(instances_.begin(), instances_.end(),
                     [&](auto& one) { return geometry.threads() >= kTowers * one.traits.geometry.threads(); });
}

size_t InstanceChooser::changing() const {
  return size_t(std::count_if(instances_.begin(), instances_.end(), [](auto& one) { return one.changed; }));
}

std::optional<size_t> InstanceChooser::victim_for(const Geometry& kind, bool changed) const {
  const size_t others = changing();
  if (captures_ >= slots() + std::max<uint64_t>(2, slots()) + (others == 0 ? kMostSearched : 0)) return std::nullopt;
  bool newcomer = instances_of(kind).empty(), searched = changed && others == 0;
  std::optional<size_t> victim;
  auto stays = [&](size_t i) { return !changed && others == 1 && instances_[i].changed; };
  auto crowd = [&](size_t i) { return instances_of(instances_[i].kind).size(); };
  for (size_t i = 0; i < instances_.size(); ++i) {
    // The first launch of a kind stays; of the others the earliest of the most crowded kind goes.
    bool may_go = !stays(i) && instances_[i].ordinal > 0 && crowd(i) > 1 && (newcomer || instances_[i].kind == kind);
    if (may_go && (!victim || crowd(i) > crowd(*victim) ||
                   (crowd(i) == crowd(*victim) && instances_[i].ordinal < instances_[*victim].ordinal)))
      victim = i;
  }
  if (victim || !(newcomer || searched)) return victim;
  for (size_t i = 0; i < instances_.size(); ++i)
    if (!stays(i) && (!victim || time_of(instances_[i].kind) < time_of(instances_[*victim].kind))) victim = i;
  if (victim && !searched && time_of(kind) < kClearlyMore * time_of(instances_[*victim].kind)) return std::nullopt;
  return victim;
}

bool InstanceChooser::wants(const LaunchTraits& traits) {
  if (seen_++ < skip_ || slots_ == 0) return false;
  const Geometry kind = kind_of(traits.geometry);
  auto found = clusters_.find(kind);
  if (found == clusters_.end()) {
    if (clusters_.size() >= kMostClusters) return false;
    found = clusters_.try_emplace(kind).first;
  }
  Cluster& cluster = found->second;
  uint64_t ordinal = cluster.launches++;
  bool new_scalars = cluster.scalars.size() < kMostScalars && cluster.scalars.insert(traits.scalars).second;
  bool free_slot = instances_.size() < slots();
  bool first = instances_of(kind).empty();
  // New scalars are captured while they are rare: when every launch brings new ones they are a counter, not a kind.
  bool rare = new_scalars && cluster.scalars.size() <= 2 && ordinal >= kSpread;
  bool searching = changing() == 0 && std::has_single_bit(ordinal);
  bool due = (first && (free_slot || towers_over_all(traits.geometry))) || power_of_spread(ordinal) || rare ||
             cluster.unlike_any || searching;
  return due && (free_slot || victim_for(kind, true).has_value());
}

void InstanceChooser::captured(const LaunchTraits& traits, const std::string& id, bool changed, uint64_t bytes) {
  const Geometry kind = kind_of(traits.geometry);
  std::optional<size_t> victim;
  if (instances_.size() >= slots()) victim = victim_for(kind, changed);
  ++captures_;
  auto cluster = clusters_.find(kind);
  uint64_t ordinal = cluster == clusters_.end() ? 0 : cluster->second.launches - 1;
  if (cluster != clusters_.end()) cluster->second.unlike_any = false;
  if (victim) {
    superseded_.push_back(instances_[*victim].id);
    instances_.erase(instances_.begin() + static_cast<ptrdiff_t>(*victim));
  }
  if (instances_.size() >= slots()) superseded_.push_back(id);
  else instances_.push_back({id, traits, kind, ordinal, changed, bytes});
}

void InstanceChooser::note(const LaunchTraits& traits, double microseconds, const std::string& captured_as,
                           ArgumentSet rewritten) {
  int duration = duration_class(microseconds);
  total_us_ += microseconds;
  const Geometry kind = kind_of(traits.geometry);
  auto found = clusters_.find(kind);
  uint64_t scalars = traits.scalars;
  if (found != clusters_.end()) {
    Cluster& cluster = found->second;
    if (!cluster.scalars.contains(scalars)) scalars = kEndlessScalars;
    cluster.total_us += microseconds;
    cluster.by_duration[duration] += microseconds;
    for (auto& instance : instances_)
      if (!captured_as.empty() && instance.id == captured_as)
        instance.duration = duration, instance.own_us = microseconds, instance.rewritten = rewritten;
    auto own = instances_of(kind);
    bool similar =
        std::any_of(own.begin(), own.end(), [&](auto* one) { return std::abs(one->duration - duration) <= 1; });
    if (!own.empty() && !similar && cluster.by_duration[duration] > kMuchOfTheTime * total_us_)
      cluster.unlike_any = true;
  }
  Group group{traits.geometry, scalars, duration, rewritten};
  // A captured launch ran right after its memory was read through: its duration is used only if there is no other.
  if (!captured_as.empty()) only_captured_[group] = microseconds;
  else if (groups_.contains(group) || groups_.size() < kMostClusters * kMostScalars) groups_[group].add(microseconds);
}

double InstanceChooser::time_near(const Instance& instance) const {
  double time = 0;
  for (auto& [group, durations] : groups_)
    if (group.geometry == instance.traits.geometry && group.scalars == instance.traits.scalars)
      time += durations.total();
  for (auto& [group, microseconds] : only_captured_)
    if (group.geometry == instance.traits.geometry && group.scalars == instance.traits.scalars) time += microseconds;
  return time;
}

std::vector<InstanceChooser::Groups::const_iterator> InstanceChooser::like(const Instance& instance) const {
  // By numbers, duration and what other work touched before; by numbers and duration; by numbers; by duration; by
  // geometry alone.
  std::vector<Groups::const_iterator> same, near, similar, about, shaped;
  for (auto launches = groups_.begin(); launches != groups_.end(); ++launches) {
    auto& group = launches->first;
    if (group.geometry != instance.traits.geometry) continue;
    // Neighbouring classes belong together: durations about a border between two are one kind of launch.
    bool as_long = instance.own_us == 0 || std::abs(group.duration - instance.duration) <= 1;
    bool equal = group.scalars == instance.traits.scalars;
    if (equal && as_long && group.rewritten == instance.rewritten) same.push_back(launches);
    if (equal && as_long) near.push_back(launches);
    if (equal) similar.push_back(launches);
    if (as_long) about.push_back(launches);
    shaped.push_back(launches);
  }
  for (auto* some : {&same, &near, &similar, &about})
    if (!some->empty()) return *some;
  // Numbers that differ from launch to launch (a time step) tell little; where they come again and again (a size), no
  // launch was like this one.
  auto found = clusters_.find(instance.kind);
  bool come_again = found != clusters_.end() && found->second.scalars.size() < kMostScalars &&
                    2 * found->second.scalars.size() <= found->second.launches;
  return come_again ? about : shaped;
}

InstanceShare InstanceChooser::share_of(const Instance& instance) const {
  std::vector<const Durations*> durations;
  std::map<uint32_t, uint64_t> rewritten;  // By offset: before how many launches.
  for (auto launches : like(instance)) {
    durations.push_back(&launches->second);
    for (uint32_t i = 0; i < kMostArgumentWords; ++i)
      if (launches->first.rewritten >> i & 1) rewritten[i * kArgumentWord] += launches->second.count();
  }
  Quartiles similar = quartiles(durations);
  InstanceShare share;
  share.like = {similar.count, similar.low, similar.high, instance.own_us};
  for (auto& [offset, count] : rewritten)
    if (2 * count > similar.count) share.like.rewritten.push_back(offset);
  share.microseconds = similar.count > 0 ? similar.median : instance.own_us;
  return share;
}

std::set<size_t> InstanceChooser::held_out() const {
  constexpr size_t kOneInSoMany = 4;
  std::set<size_t> out;
  if (instances_.size() < 2) return out;
  size_t wanted = std::max<size_t>(1, instances_.size() / kOneInSoMany);
  while (out.size() < wanted) {
    std::optional<size_t> best;
    auto has_twin = [&](size_t i) {
      for (size_t j = 0; j < instances_.size(); ++j)
        if (j != i && !out.contains(j) && instances_[j].kind == instances_[i].kind) return true;
      return false;
    };
    // One whose kind stays represented, then the one that stands for the least time, then the latest.
    auto better = [&](size_t a, size_t b) {
      if (has_twin(a) != has_twin(b)) return has_twin(a);
      double near_a = time_near(instances_[a]), near_b = time_near(instances_[b]);
      return near_a != near_b ? near_a < near_b : instances_[a].ordinal > instances_[b].ordinal;
    };
    for (size_t i = 0; i < instances_.size(); ++i)
      if (!out.contains(i) && (!best || better(i, *best))) best = i;
    out.insert(*best);
  }
  return out;
}

void InstanceChooser::report(CaptureInfo& into) const {
  into.shares.merge(shares());
  into.superseded.insert(into.superseded.end(), superseded_.begin(), superseded_.end());
}

std::map<std::string, InstanceShare> InstanceChooser::shares() const {
  std::map<std::string, InstanceShare> shares;
  auto out = held_out();
  std::vector<double> time(instances_.size(), 0);
  auto likeness = [&](const Instance& instance, const Group& group) {
    double score = 0;
    if (instance.traits.geometry == group.geometry) score += 4;
    else
      score -=
          std::abs(std::ilogb(double(instance.traits.geometry.threads()) / double(group.geometry.threads()))) / 64.0;
    if (instance.traits.scalars == group.scalars) score += 2;
    return score - std::min(1.0, std::abs(instance.duration - group.duration) / 8.0);
  };
  auto give = [&](const Group& group, double total) {
    double best = -1e9;
    std::vector<size_t> nearest;
    for (size_t i = 0; i < instances_.size(); ++i) {
      if (out.contains(i)) continue;
      double score = likeness(instances_[i], group);
      if (score > best) best = score, nearest.clear();
      if (score == best) nearest.push_back(i);
    }
    for (size_t i : nearest) time[i] += total / double(nearest.size());
  };
  for (auto& [group, durations] : groups_) give(group, durations.total());
  for (auto& [group, microseconds] : only_captured_) give(group, microseconds);
  double total = 0;
  for (double t : time) total += t;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const Instance& instance = instances_[i];
    InstanceShare share = share_of(instance);
    share.held_out = out.contains(i);
    share.weight = share.held_out ? 0 : total > 0 ? time[i] / total : 1.0 / double(instances_.size() - out.size());
    shares[instance.id] = share;
  }
  return shares;
}

}  // namespace kernelift::record
