// fidelity.json, beside mep.json: how closely replays of the MEP reproduced the application, for each device its latest
// replay. A MEP's grade comes from replays only: before the first one the grade is not known, and the README says so.
// How a replay is judged is not decided here.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift {

inline constexpr int kFidelityVersion = 1;

/// The result of one replay.
struct Fidelity {
  enum class Changed { Exactly, WithinTolerance, Otherwise };
  struct Instance {
    Changed changed = Changed::Exactly;       ///< Memory and variables afterwards, compared with the application's.
    std::string trouble = {};                 ///< What differs, or why it did not run.
    double recorded_us = 0, replayed_us = 0;  ///< Durations, in microseconds; 0: there is none to compare.
    std::string cache = {};                   ///< The cache mode, chosen when the MEP was made.
    bool reproduced = false;                  ///< The duration is within the bounds that replay sets.
  };
  /// Full: addresses, changed bytes and durations are the application's. None: changed bytes are not the application's.
  enum class Grade { Full, Limited, None };

  std::string device;  ///< DeviceFacts::label, or the CPU device's label.
  std::string code;    ///< The compiler that built the kernel, "clang" or "nvcc"; empty if there is only one build.
  bool relocated = false;
  std::map<std::string, Instance> instances;

  Grade grade() const;
  /// "limited on cuda: NVIDIA H200…: addresses as recorded; …", for people.
  std::string text() const;
};

const char* name(Fidelity::Grade grade);

/// One result per device; none if the MEP was never replayed. An Error means that the file is damaged.
Result<std::vector<Fidelity>> read_fidelity(const std::filesystem::path& folder);
/// Replaces the device's earlier result, and updates the grade in the MEP's README if the README has the marks for it.
Status keep_fidelity(const std::filesystem::path& folder, const Fidelity& fidelity);

/// Removes all results, for a MEP that is written anew.
Status forget_fidelity(const std::filesystem::path& folder);

/// The part of a MEP's README that states the grade, with the marks around it.
std::string fidelity_text(const std::vector<Fidelity>& replays);

Json to_json(const Fidelity& fidelity);

}  // namespace kernelift
