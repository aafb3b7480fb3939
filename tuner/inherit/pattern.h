// What helped a kernel, in a form that a kernel of another application can repeat: what the kernel was like, the chain
// of rewrites and settings, its gain, and how often it held where it was tried again. A pattern holds no source text,
// path or name of the application, except the kernel's own name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "tuner/inherit/kernel_features.h"
#include "tuner/store/run.h"

namespace kernelift::tuner {

/// A kernel whose search may begin from patterns, or leaves some.
struct PatternContext {
  std::string kernel;        ///< Its name, without namespaces, template arguments and parameters.
  std::string architecture;  ///< "sm_90"; "cpu" on the CPU device.
  KernelFeatures features;

  static PatternContext of(const Mep& mep, const KernelFeatures& features, const std::string& architecture);
  /// Both are of one kernel, perhaps of different runs.
  bool is_kernel_of(const PatternContext& other) const;
};

struct Pattern {
  PatternContext context;  ///< Of the kernel on which it was found.
  /// Rewrites by rule and parameters, and knobs by what they determine: "block.x". Nothing else.
  std::vector<Step> chain;
  Recipe recipe;
  double log_gains = 0;  ///< Sum of the logarithms of the gains of the kernels on which it held.
  int tried = 1, held = 1;

  /// Geometric mean of the gains where it held, by the lower ends of their intervals.
  double gain() const;
  /// What to expect from it on that kernel, as a log gain: similarity, times how often it holds, times its gain. 0 on
  /// another kind of device: figures of processors and GPUs say nothing about each other.
  double worth_for(const PatternContext& kernel) const;
  bool same_chain(const Pattern& other) const;
  std::string text() const;  ///< "unroll (by 4); block.x 128".

  /// The trial's chain and gain. nullopt if it cannot be repeated elsewhere: a person or a model wrote part of it, or a
  /// knob has a meaning of its own.
  static std::optional<Pattern> of(const RunTrial& trial, const Mep& mep, const PatternContext& context);
  /// The chain in the words of another kernel: the knobs that determine its block.
  std::vector<Step> steps_for(const Mep& mep) const;
};

Json to_json(const Pattern&);
/// Throws inside reading().
Pattern pattern_from_json(const Json&);

/// The patterns of a run's confirmed winners: of the best that the application's build can express, and of the best of
/// all.
std::vector<Pattern> patterns_of(const std::vector<RunTrial>& trials, const Mep& mep, const PatternContext& context);

}  // namespace kernelift::tuner
