// Findings in words; see access_finding.h.
#include "core/model/launch/access_finding.h"

namespace kernelift {
namespace {

std::string thread_text(const CheckedAccess& access) {
  return "thread " + access.thread.text() + " of block " + access.block.text();
}

const char* verb(const CheckedAccess& access) {
  return access.atomic ? "changes atomically" : access.write ? "writes" : "reads";
}

std::string race_text(const AccessFinding& finding, const std::string& what, const char* missing) {
  const CheckedAccess &one = *finding.other, &two = finding.access;
  const bool alike =
      one.block == two.block && one.place == two.place && one.write == two.write && !one.atomic && !two.atomic;
  if (alike)
    return "race: threads " + one.thread.text() + " and " + two.thread.text() + " of block " + one.block.text() +
           " write " + what + " at " + two.place + missing;
  const bool same_block = one.block == two.block;
  return "race: " + thread_text(one) + " " + verb(one) + " " + what + " at " + one.place + ", " +
         (same_block ? "thread " + two.thread.text() : thread_text(two)) + " " + verb(two) + " it at " + two.place +
         missing;
}

}  // namespace

std::string AccessFinding::text() const {
  const std::string what = object + "[" + std::to_string(element) + "]";
  const std::string subject = thread_text(access) + " " + verb(access) + " ";
  switch (kind) {
    case FindingKind::Race: return race_text(*this, what, " without a barrier between them");
    case FindingKind::BlockRace: return race_text(*this, what, ", and nothing orders blocks");
    case FindingKind::OutOfBounds: return "out of bounds: " + subject + what + " at " + access.place;
    case FindingKind::Uninitialised:
      return "uninitialised: " + subject + what + " at " + access.place + ", to which nothing was written before";
    case FindingKind::Misaligned:
      return "misaligned: " + subject + "memory at " + access.place +
             " at an address that the access's type does not allow";
    case FindingKind::DivergentBarrier:
      return "divergent barrier: " + thread_text(*other) + " waits at " + other->place + ", thread " +
             access.thread.text() + " at " + access.place;
  }
  return {};
}

}  // namespace kernelift
