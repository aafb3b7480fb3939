// What a kernel is like, in figures that kernels of other applications can be compared by: its launch, how it reads and
// writes, its loops, barriers and sums. They hold no names, texts or paths of the application.
#pragma once
#include <map>
#include <string>

#include "core/base/json.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/mep.h"
#include "tuner/bound.h"

namespace kernelift::tuner {

/// Each from 0 to 1, by name: "unit_stride" is the share of accesses to global memory in which neighbouring threads
/// touch neighbouring elements. One that is not known is absent.
struct KernelFeatures {
  std::map<std::string, double> values;

  /// `model`: in blocks of `launch`; nullptr: not known.
  static KernelFeatures of(const Geometry& launch, const KernelModel* model, Bound bound);

  /// 1: the same in everything that both know; 0: nothing is known to be alike. Symmetric.
  double similarity(const KernelFeatures& other) const;
};

/// The heaviest recorded launch; EXPECTS: there is one.
const MepInstance& heaviest(const Mep& mep);

Json to_json(const KernelFeatures&);
/// Throws inside reading().
KernelFeatures kernel_features_from_json(const Json&);

}  // namespace kernelift::tuner
