// Results of calibrating the original on any device: whether it reproduces its capture, buffer by buffer, and how long
// it takes. Runner processes send it as JSON; replay prints it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/mep.h"
#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {

/// Results of the original in one buffer of an instance.
struct BufferReport {
  std::string name;
  uint64_t bytes = 0;
  bool pass = true, changed = false;
  std::string detail;     ///< First and worst mismatch.
  std::string tolerance;  ///< ErrorBounds::text.
  bool written = false;   ///< It changed, or is written without being read: a kernel that does nothing would fail.
  bool exact = true;      ///< Bitwise equal, not only within the tolerance.
};
struct InstanceReport {
  std::string id;
  bool held_out = false, pass = true;
  double weight = 1;
  double recorded_seconds = 0;       ///< Duration in the application; 0 if unknown.
  double seconds = 0, spread = 0;    ///< Median duration and relative spread of a launch.
  double application_seconds = 0;    ///< Median duration of the application's own machine code; 0: not known.
  double fastest_write_seconds = 0;  ///< To write as many bytes as it changes, for physics_floor().
  std::string failure;               ///< Why it did not run; empty: it ran.
  std::vector<BufferReport> buffers;
};
struct BaselineReport {
  std::vector<InstanceReport> instances;
  /// Why the application's own machine code cannot be measured; empty: it can, or there is none.
  std::string application_trouble = {};
  bool application_alone = false;  ///< The application's code reproduces the capture, the calibrated code does not.
  /// Expected seconds to confirm one finalist, those of them that its own launches take if it is as fast as the
  /// original, and additional seconds for the first, by the plan and the original's costs; 0: not known.
  double confirmation_seconds = 0, own_seconds = 0, perturbing_seconds = 0;
  /// Why a candidate that does nothing could not be detected (written_regions.h); empty: it can be, or the original
  /// fails.
  std::string unverifiable = {};
  bool pass() const;
  /// The original passes, and candidates can be judged by its results.
  bool judges() const { return pass() && unverifiable.empty(); }
  /// The first failure, as a sentence; empty if there is none.
  std::string complaint() const;
};

/// Message for a MEP whose capture is reproduced by nvcc's build but not by clang's, for the reason `complaint`.
std::string only_by_nvcc(const std::string& complaint);
/// Message for an original that judged candidates before, but whose new `report` does not.
std::string no_longer_reproduced(const BaselineReport& report);
/// Message for an original as soon as one run is known to be long.
std::string takes_long(const std::string& instance, double seconds);
/// Message for an original whose runs differ in a buffer.
std::string does_not_repeat(const std::string& buffer, uint64_t differing, uint64_t elements);

Json to_json(const BaselineReport& report);
Result<BaselineReport> baseline_report_from_json(const Json& from, const std::string& where);

}  // namespace kernelift::sandbox
