// Advice from facts about a kernel: what limits it, how far it is from this GPU's peaks, and what to try next. Pure:
// facts in, text out. Every sentence is supported by a measured figure, and names it.
#pragma once
#include <string>
#include <vector>

#include "core/model/kernel_facts.h"

namespace kernelift::sandbox {

/// One ceiling of the roofline.
struct Roof {
  std::string name;    ///< "DRAM", "L2", "fp32 arithmetic"…
  double seconds = 0;  ///< The least time this kernel's traffic or arithmetic takes at the measured peak.
  double share = 0;    ///< `seconds` divided by the kernel's duration; 1 is at the roof.
};

struct Diagnosis {
  std::vector<Roof> roofs;            ///< Highest share first; only roofs whose figures are known.
  std::vector<std::string> findings;  ///< One sentence each, most important first.
  std::string paragraph() const;
};

Diagnosis diagnose(const KernelFacts& facts);

/// The figures as an aligned table for a terminal.
std::string facts_table(const KernelFacts& facts);

}  // namespace kernelift::sandbox
