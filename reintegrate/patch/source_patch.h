// Turns a winning candidate into the smallest change of the application's own files. The MEP's kernel.cu is compared
// with the candidate's text line by line; every changed line is traced to the file and line that it was sliced from,
// every changed knob to the place where its value is written, every changed launch to its site. No file is written
// here: a SourcePatch holds whole files before and after, in memory. A change that cannot be expressed is refused by
// its location. A candidate whose gain the application's compiler cannot reproduce is planned as embedded code instead
// (embed/embedding_patch.h).
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/compiler/written/introduced_names.h"
#include "core/model/candidate/candidate.h"
#include "core/model/knob/build_definition.h"
#include "core/model/mep.h"
#include "reintegrate/embed/embedded_code.h"
#include "reintegrate/patch/launch/launch_edit.h"
#include "reintegrate/patch/launch/launch_guard.h"

namespace kernelift::reintegrate {

struct FileChange {
  std::filesystem::path path;  ///< Absolute, links resolved.
  std::string name;            ///< Path relative to the application's root: "../library/k.cu" of another tree.
  std::string before, after;   ///< The whole file, byte for byte.
  bool created = false;        ///< The file does not exist before the patch.
  /// `before` with the knobs' new values, and with all that the patch declares: these values, launches' geometry, and
  /// code that we generate. What `after` has beyond is the candidate's own text.
  std::string knobs = {}, declared = {};
  /// A file of the application's build, which no compiler reads. Of other files `before` may equal `after`: they are
  /// written to be compiled again.
  bool of_build = false;
};

struct SourcePatch {
  std::vector<FileChange> changes;
  std::vector<std::string> notes;        ///< Side effects of the patch, and what it leaves out: one sentence each.
  bool reaches_others = false;           ///< Other kernels, or other instances of the template, change too.
  std::vector<std::string> macros = {};  ///< That the candidate defines; undefined again behind their last use.
  IntroducedNames introduced = {};       ///< What the candidate's text names that the kernel's own text does not.
  std::string judged_beside = {};        ///< The kernel's own text, beside which the candidate was judged.
  std::vector<Redefinition> definitions = {};  ///< New values that the patch gives to macros in the build.
  std::string launch_needs = {};               ///< Of PatchQuestion::launched_elsewhere: "only where n % 4 == 0".
  std::string launcher;                        ///< Name of the generated launcher if the patch carries PTX; else empty.
  std::string kernel, beside;                  ///< A kernel and the one beside it, between which launches choose,
                                               ///< unqualified; or empty.
  std::string kernel_id;                       ///< ScannedKernel::id of the kernel that it is for.
  std::set<std::string> users_of_new_values;   ///< Ids of other kernels that use a constant to which it gives a value.
  bool embeds() const { return !launcher.empty(); }
  std::string diff() const;  ///< Unified diff of all files.
  Hash identity() const;     ///< Of all files before and after.
};

struct PatchQuestion {
  const Mep& mep;
  const std::string& original;  ///< kernel.cu as extracted.
  const Candidate& candidate;
  const ScanIndex* scan = nullptr;         ///< Tells which other kernels use the changed lines; may be null.
  std::filesystem::path root;              ///< The application's root; outside it only `repositories` are patched.
  const EmbeddedCode* embedded = nullptr;  ///< If set: embed this and leave the kernel's own text as it is.
  /// Where it holds, the candidate is right. The patched launch asks it, and is the original one elsewhere; a changed
  /// text becomes a kernel beside the original. Empty: nothing is to be asked.
  LaunchGuard guard = {};
  std::vector<std::filesystem::path> repositories = {};  ///< Further folders whose files the user lets a patch change.
  /// settled_sizes() of the candidate's verdict: then embedded code runs at all sizes, as a patch of the source does.
  const OtherSizes* settled = nullptr;
  bool launched_elsewhere = false;  ///< The launches are in no file: only the kernel's text is patched.
  /// Of the application, with other values of which the candidate is not known to be right (needed_constants.h).
  Bindings constants = {};

  /// The compile commands of the application's build, as far as the scan names them.
  std::filesystem::path log() const { return scan ? scan->database : ""; }
};

Result<SourcePatch> plan_patch(const PatchQuestion& question);

}  // namespace kernelift::reintegrate
