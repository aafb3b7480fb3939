// From facts to advice: what holds a kernel back, how far it is from what this GPU can do, and what a person would try
// next. Pure: facts in, text out. It says only what the facts bear, and names the figure behind each sentence.
#pragma once
#include <string>
#include <vector>

#include "core/model/kernel_facts.h"

namespace kernelift {

/// One ceiling of the roofline.
struct Roof {
  std::string name;    ///< "DRAM", "L2", "fp32 arithmetic"…
  double seconds = 0;  ///< The least time this kernel's traffic or arithmetic takes at the measured peak.
  double share = 0;    ///< seconds / the kernel's: 1 is at the roof.
};

struct Diagnosis {
  std::vector<Roof> roofs;            ///< Highest share first; only those whose figures are known.
  std::vector<std::string> findings;  ///< One sentence each, what matters most first.
  std::string paragraph() const;
};

Diagnosis diagnose(const KernelFacts& facts);

/// The figures themselves, as an aligned table for a terminal.
std::string facts_table(const KernelFacts& facts);

}  // namespace kernelift
