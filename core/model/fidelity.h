// fidelity.json, beside mep.json: how true replays of the MEP were to the application, the latest of each device. A MEP
// is graded by what was seen, never by what was promised: before its first replay it has no grade, and says so. Not
// here: how a replay is judged.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift {

inline constexpr int kFidelityVersion = 1;

/// What one replay showed.
struct Fidelity {
  enum class Changed { Exactly, WithinTolerance, Otherwise };
  struct Instance {
    Changed changed = Changed::Exactly;       ///< Memory and variables afterwards, against what the application got.
    std::string trouble = {};                 ///< What differs, or why it did not run.
    double recorded_us = 0, replayed_us = 0;  ///< Durations that are compared; 0: there is nothing to compare.
    std::string cache = {};                   ///< In which mode: chosen when the MEP was made.
    bool reproduced = false;                  ///< Within the bounds that replay holds durations to.
  };
  /// Full: addresses, changed bytes and durations are the application's. None: it does not leave what the application
  /// got.
  enum class Grade { Full, Limited, None };

  std::string device;  ///< DeviceFacts::label, or the CPU device's.
  std::string code;    ///< Whose build of the kernel it was; empty where there is but one.
  bool relocated = false;
  std::map<std::string, Instance> instances;

  Grade grade() const;
  /// "limited on cuda: NVIDIA H200…: addresses as recorded; …", for people.
  std::string text() const;
};

const char* name(Fidelity::Grade grade);

/// By device; none where the MEP was never replayed. An Error: the file is damaged.
Result<std::vector<Fidelity>> read_fidelity(const std::filesystem::path& folder);
/// In the place of what was known of that device. The README's grade follows, where it has one.
Status keep_fidelity(const std::filesystem::path& folder, const Fidelity& fidelity);

/// Of a MEP that is written anew.
Status forget_fidelity(const std::filesystem::path& folder);

/// The part of a MEP's README that tells the grade, between marks of its own.
std::string fidelity_text(const std::vector<Fidelity>& replays);

Json to_json(const Fidelity& fidelity);

}  // namespace kernelift
