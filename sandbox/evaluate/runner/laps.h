// What the time of something longer went to, for a user whose time did not suffice: "launches 3.0 s, building 1.2 s".
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/wire.h"
#include "sandbox/jail/channel.h"

namespace kernelift::sandbox {

class Laps {
 public:
  /// What was done since the lap before, or since this was made.
  void end(const std::string& what);
  /// `seconds` of the present lap went to something of its own.
  void within(const std::string& what, double seconds);
  /// The present lap went to these, and the rest of it to `rest`.
  void end_with(const Laps& parts, const std::string& rest);
  /// Those that are worth telling, in the order in which they first ended; equal names are one.
  std::string text() const;
  double seconds() const;  ///< Of all.

  void put(WireWriter& writer) const;
  static Laps taken(WireReader& reader);

 private:
  void add(const std::string& what, double seconds);
  Deadline last_ = Deadline::clock::now();
  double apart_ = 0;  ///< Of the present lap, by within().
  std::vector<std::pair<std::string, double>> seconds_;
};

}  // namespace kernelift::sandbox
