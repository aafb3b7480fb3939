// From a winning candidate to the smallest change of the application's own files. The MEP's kernel.cu is compared with
// the candidate's text line by line; every changed line is traced to the file and line that it was sliced from, every
// changed knob to where its value is spelled, every changed launch to its site. Nothing is written here: a SourcePatch
// is whole files before and after, in memory. What cannot be expressed is refused by name. A candidate whose gain the
// application's compiler cannot make is planned as embedded code instead: a generated header, and launches sent through
// it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/mep.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/patch/launch_edit.h"

namespace kernelift {

struct FileChange {
  std::filesystem::path path;  ///< Absolute, links resolved.
  std::string name;            ///< Relative to the application's root.
  std::string before, after;   ///< The whole file, byte for byte.
  bool created = false;        ///< There is no file before the patch.
};

struct SourcePatch {
  std::vector<FileChange> changes;
  std::vector<std::string> notes;  ///< What else this touches, and what it leaves out: one sentence each.
  bool reaches_others = false;     ///< Other kernels, or other instances of the template, change with it.
  std::string launcher;            ///< If it carries PTX: the name of what launches that.
  bool embeds() const { return !launcher.empty(); }
  std::string diff() const;  ///< Unified, all files.
};

struct PatchQuestion {
  const Mep& mep;
  const std::string& original;  ///< kernel.cu as extracted.
  const Candidate& candidate;
  const ScanIndex* scan = nullptr;         ///< When at hand: who else uses what is changed.
  std::filesystem::path root;              ///< The application's root; nothing outside it is ever patched.
  const EmbeddedCode* embedded = nullptr;  ///< Embed this, and leave the kernel's own text as it is.
};

Result<SourcePatch> plan_patch(const PatchQuestion& question);

}  // namespace kernelift
