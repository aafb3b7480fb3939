// See profile.h. The median comes from a reservoir sample (Vitter's R with an xorshift generator): one branch per
// launch.
#include "extractor/record/profile.h"

#include <algorithm>

namespace kernelift::record {

void Durations::add(double microseconds) {
  shortest_ = count_ == 0 ? microseconds : std::min(shortest_, microseconds);
  longest_ = count_ == 0 ? microseconds : std::max(longest_, microseconds);
  total_ += microseconds;
  ++count_;
  if (sample_.size() < kReservoir) {
    sample_.push_back(microseconds);
    return;
  }
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  if (uint64_t slot = random_ % count_; slot < kReservoir) sample_[slot] = microseconds;
}

double Durations::median() const {
  if (sample_.empty()) return 0;
  std::vector<double> sorted = sample_;
  auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2) return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

Quartiles quartiles(const std::vector<const Durations*>& lists) {
  Quartiles found;
  std::vector<std::pair<double, double>> weighted;  // Duration, and how many launches it stands for.
  for (auto* list : lists) {
    found.count += list->count();
    for (double one : list->sample()) weighted.push_back({one, double(list->count()) / double(list->sample().size())});
  }
  std::sort(weighted.begin(), weighted.end());
  auto at = [&](double share) {
    double reached = 0, wanted = share * double(found.count);
    for (auto& [one, weight] : weighted)
      if ((reached += weight) >= wanted) return one;
    return weighted.empty() ? 0 : weighted.back().first;
  };
  found.low = at(0.25), found.median = at(0.5), found.high = at(0.75);
  return found;
}

void LaunchProfile::add(const Geometry& geometry, double microseconds) {
  durations_.add(microseconds);
  if (last_ == shapes_.end() || last_->first != geometry) {
    last_ = shapes_.find(geometry);
    if (last_ == shapes_.end()) {
      if (shapes_.size() >= kMostShapes) return;
      last_ = shapes_.try_emplace(geometry).first;
    }
  }
  ++last_->second.count;
  last_->second.total_us += microseconds;
}

KernelProfile LaunchProfile::summary() const {
  KernelProfile profile;
  profile.count = durations_.count();
  profile.total_us = durations_.total();
  profile.min_us = durations_.shortest();
  profile.median_us = durations_.median();
  profile.max_us = durations_.longest();
  for (auto& [geometry, shape] : shapes_) profile.shapes.push_back({geometry, shape.count, shape.total_us});
  std::sort(profile.shapes.begin(), profile.shapes.end(), [](auto& a, auto& b) {
    return a.total_us != b.total_us ? a.total_us > b.total_us : a.geometry < b.geometry;
  });
  return profile;
}

std::vector<KernelProfile> merge_profiles(std::vector<KernelProfile> profiles) {
  std::vector<KernelProfile> merged;
  std::map<std::string, size_t> place;
  for (auto& profile : profiles) {
    if (profile.count == 0) continue;
    auto [found, fresh] = place.try_emplace(profile.key, merged.size());
    if (fresh) {
      merged.push_back(std::move(profile));
      continue;
    }
    KernelProfile& into = merged[found->second];
    // Two modules' medians cannot be merged exactly; the one with more launches speaks for both.
    if (profile.count > into.count) into.median_us = profile.median_us;
    into.count += profile.count;
    into.total_us += profile.total_us;
    into.min_us = std::min(into.min_us, profile.min_us);
    into.max_us = std::max(into.max_us, profile.max_us);
    for (auto& shape : profile.shapes) {
      auto same =
          std::find_if(into.shapes.begin(), into.shapes.end(), [&](auto& s) { return s.geometry == shape.geometry; });
      if (same == into.shapes.end()) into.shapes.push_back(shape);
      else same->count += shape.count, same->total_us += shape.total_us;
    }
  }
  std::sort(merged.begin(), merged.end(),
            [](auto& a, auto& b) { return a.total_us != b.total_us ? a.total_us > b.total_us : a.key < b.key; });
  return merged;
}

}  // namespace kernelift::record
