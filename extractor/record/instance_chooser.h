// Which launches of a kernel are worth keeping. Applications launch a kernel thousands of times and a few launches can
// stand for all of them if they are chosen by what differs: geometry, scalar arguments, duration. The choice has to be
// made before a launch runs and with no second run, so it is an online clustering over numbers only (no memory, no
// clock): the first launch of each geometry, then launches 1, 8, 64, 512… of it, then launches of a duration class that
// takes much of the time and has no instance yet. When all slots are taken, an early instance of a crowded geometry
// makes room, or the one that stands for the least time, and the number of captures in all stays bounded. Where the
// size changes from launch to launch (a frontier, a growing mesh) geometries count together by the powers of two in
// their grids: else each would be seen once, and the first few would be all that is ever captured. A launch that
// changed nothing in memory proves little of a candidate: while there are only such ones, a few more launches are
// captured, and the last one that changed something makes room for another such one only. Weights are known at the end:
// every launch's time goes to the nearest tuning instance.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/capture.h"
#include "extractor/record/profile.h"

namespace kernelift::record {

/// What is known of a launch before it runs.
struct LaunchTraits {
  Geometry geometry;
  uint64_t scalars = 0;  ///< Hash of the argument bytes that are no pointers.
};

/// Bit i: the address at byte 8 i of a launch's arguments.
using ArgumentSet = uint64_t;
inline constexpr uint32_t kArgumentWord = 8, kMostArgumentWords = 64;

class InstanceChooser {
 public:
  InstanceChooser(uint64_t slots, uint64_t skip) : slots_(slots), skip_(skip) {}

  /// Called once before every launch: should it be captured?
  bool wants(const LaunchTraits& traits);
  /// The launch last asked about was captured as `id`; called before its note(). The instance that makes room for it is
  /// dropped from the shares; itself, if none does. `changed`: something in memory was not the same after it. `bytes`
  /// of memory belong to it: where these are many, fewer instances are kept.
  void captured(const LaunchTraits& traits, const std::string& id, bool changed, uint64_t bytes);
  /// Called once for every launch when its duration is known, in any order; `captured_as` is the instance's id, empty
  /// for a launch that ran as the application left it, and no instance's id for one that was held up for others'
  /// images. `rewritten`: which of its addresses lead to what other work touched last.
  void note(const LaunchTraits& traits, double microseconds, const std::string& captured_as, ArgumentSet rewritten = 0);
  /// Kept instances: held-out ones (at least one of two or more) weigh nothing, the others' weights add up to one.
  std::map<std::string, InstanceShare> shares() const;
  const std::vector<std::string>& superseded() const { return superseded_; }  ///< Ids that made room.
  void report(CaptureInfo& into) const;                                       ///< Adds both.
  bool has_instances() const { return !instances_.empty(); }
  uint64_t seen() const { return seen_; }

 private:
  struct Instance {
    std::string id;
    LaunchTraits traits;
    Geometry kind;         ///< kind_of() its geometry.
    uint64_t ordinal = 0;  ///< Among the launches of its kind.
    bool changed = false;  ///< Something in memory.
    uint64_t bytes = 0;
    int duration = 0;   ///< Class of its own duration.
    double own_us = 0;  ///< That duration, right after its images were taken.
    ArgumentSet rewritten = 0;
  };
  struct Cluster {
    uint64_t launches = 0;
    double total_us = 0;
    std::set<uint64_t> scalars;
    std::map<int, double> by_duration;  ///< Time by duration class.
    bool unlike_any = false;            ///< A duration class with much of the time has no instance.
  };
  /// Launches told apart for the weights.
  struct Group {
    Geometry geometry;
    uint64_t scalars;
    int duration;
    ArgumentSet rewritten;
    auto operator<=>(const Group&) const = default;
  };

  /// A geometry itself while there are few of them; of further ones, all that are equal within a factor of two.
  Geometry kind_of(const Geometry& geometry) const;
  std::vector<const Instance*> instances_of(const Geometry& kind) const;
  /// As many as were asked for, but, beside one to tune on and one to hold out, none whose memory is too much together.
  uint64_t slots() const;
  /// How many instances changed memory.
  size_t changing() const;
  std::optional<size_t> victim_for(const Geometry& kind, bool changed) const;
  /// Of all launches seen; of a kind that was not, what the largest one makes expect.
  double time_of(const Geometry& kind) const;
  /// Many times as many threads as of any instance.
  bool towers_over_all(const Geometry& geometry) const;
  std::set<size_t> held_out() const;
  double time_near(const Instance& instance) const;
  using Groups = std::map<Group, Durations>;
  /// Launches like an instance, as close a likeness as there is, and durations within a class of its own.
  std::vector<Groups::const_iterator> like(const Instance& instance) const;
  InstanceShare share_of(const Instance& instance) const;

  uint64_t slots_, skip_;
  uint64_t seen_ = 0, captures_ = 0;
  double total_us_ = 0;
  std::map<Geometry, Cluster> clusters_;  ///< By kind.
  Groups groups_;
  std::map<Group, double> only_captured_;  ///< Durations of captured launches, used where no other is known.
  std::vector<Instance> instances_;
  std::vector<std::string> superseded_;
};

}  // namespace kernelift::record
