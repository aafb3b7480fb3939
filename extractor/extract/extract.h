// extract: one kernel of a scanned and recorded application as a MEP, a folder that builds and runs by itself.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/model/mep.h"

namespace kernelift::extractor {

struct ExtractOptions {
  std::string kernel;               ///< As the user names it: id, key, or (partial) qualified name.
  std::filesystem::path state;      ///< Holds scan.json and capture/.
  std::filesystem::path templates;  ///< The installed mep-templates.
  std::filesystem::path out;        ///< The MEP's folder; empty: state/mep/NAME-ID.
  bool synthesise = false;          ///< Inputs from types instead of from the capture.
  /// Fills in what the original kernel makes of made-up inputs, or says in a sentence why it cannot be run: then (or
  /// without this) the MEP says that its answers are not known. An Error ends the extraction.
  std::function<Result<std::string>(const std::filesystem::path& folder, Mep& mep)> answer;
  /// Is told what of the capture is damaged and was left out; may be null.
  std::function<void(const std::string&)> on_doubt;  ///< What else the kernel could have been taken from: Slice::doubt.
  std::function<void(const std::string&)> on_damage;
};

/// The MEP's folder. An earlier MEP there is replaced as a whole, any other folder is not touched.
Result<std::filesystem::path> extract_mep(const ExtractOptions& options);

}  // namespace kernelift::extractor
