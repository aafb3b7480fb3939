// A patch while it is planned: the application's files that it touches, the byte edits collected for each of them, and
// the notes for the report. All edits of a file are checked for overlap and applied at once, so that bytes outside them
// cannot change.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reintegrate/patch/launch/launch_edit.h"
#include "reintegrate/patch/open_file.h"
#include "reintegrate/patch/patched_trees.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

class PatchDraft {
 public:
  /// EXPECTS: `question` outlives the draft.
  explicit PatchDraft(const PatchQuestion& question) : q_(question), trees_(question.root, question.repositories) {}

  /// The application's file of this name, read once. Refuses files that no patch may change.
  Result<OpenFile*> open(const std::string& file);
  /// The file, and the application's files that it includes by a name in quotes, directly or not.
  std::vector<OpenFile*> included_from(OpenFile& file);
  bool is_outside(const std::string& file) const;
  /// True if `spelled`, absolute or relative to the root, names the file at `path`.
  bool same_file(const std::string& spelled, const std::filesystem::path& path) const;

  /// Replaces bytes [begin, end) of the file. An edit that changes nothing, or repeats one, is ignored.
  void add(OpenFile& file, uint64_t begin, uint64_t end, std::string text, Author author = Author::Candidate);
  /// Inserts the candidate's text in place of `copied`, which the patch declares there.
  void insert_in_place_of(OpenFile& file, uint64_t at, std::string text, std::string copied);
  /// Declares that the knob's value at these bytes becomes `text`. The edit is added unless another one covers it.
  void add_knob(OpenFile& file, uint64_t begin, uint64_t end, const std::string& text);
  /// The same for an argument that a launch gives to the kernel's template: the kernel's own, as its geometry is.
  void add_argument(OpenFile& file, uint64_t begin, uint64_t end, const std::string& text) {
    add_knob(file, begin, end, text), arguments_.emplace(&file, begin);
  }
  bool is_argument(OpenFile& file, const ByteEdit& edit) const { return arguments_.contains({&file, edit.begin}); }
  /// Adds a line to the end of a file of the application's build.
  void add_build_line(OpenFile& file, const std::string& line);
  /// Replaces a knob's value in a file of the application's build.
  void add_build_value(OpenFile& file, uint64_t begin, uint64_t end, const std::string& text) {
    add(file, begin, end, text, Author::Knob), of_build_.insert(&file);
  }
  /// The file is in the patch, though nothing of it changes: the build is to compile it again.
  void compile_again(OpenFile& file) { edits_[&file], again_.insert(&file); }
  bool is_of_build(OpenFile& file) const { return of_build_.contains(&file); }
  /// True if an edit covers bytes [begin, end) of the file.
  bool is_edited(OpenFile& file, uint64_t begin, uint64_t end) const;
  const std::map<OpenFile*, std::vector<ByteEdit>>& edits() const { return edits_; }
  const std::vector<ByteEdit>& edits_of(OpenFile* file) { return edits_[file]; }

  /// Applies the edits. Refuses edits that overlap, and a patch that changes nothing.
  Result<SourcePatch> finish() const;

  std::vector<std::string> notes;         ///< Side effects of the patch, and what it leaves out: one sentence each.
  std::vector<Redefinition> definitions;  ///< New values of macros in the build.
  bool reaches_others = false;            ///< Other kernels, or other instances of the template, change too.

 private:
  const PatchQuestion& q_;
  const PatchedTrees trees_;
  std::map<std::string, OpenFile> files_;
  std::map<OpenFile*, std::vector<ByteEdit>> edits_;
  std::set<OpenFile*> again_, of_build_;
  std::set<std::pair<OpenFile*, uint64_t>> arguments_;
  std::map<OpenFile*, std::vector<ByteEdit>> knobs_;  ///< All knobs' edits, those inside other edits too.
};

}  // namespace kernelift::reintegrate
