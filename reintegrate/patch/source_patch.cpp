// Every change becomes a ByteEdit of an original file; edits are then checked for overlap and applied at once, so that
// bytes outside them cannot change. A line of kernel.cu may be edited only if the file still holds that line (or, for a
// declaration cut out of a longer line of a file that is as it was, holds it exactly once within): anything else means
// that the file is no longer what was scanned. Insertions have no line of their own: they go before the next traced
// line, which keeps a new helper above the kernel that calls it, unless the line before is the direct predecessor in
// the same file.
#include "reintegrate/patch/source_patch.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/within.h"
#include "reintegrate/embed/launcher.h"
#include "reintegrate/embed/launcher_place.h"
#include "reintegrate/embed/redirect.h"
#include "reintegrate/embed/shape_guard.h"
#include "reintegrate/patch/conditionals.h"
#include "reintegrate/patch/host_functions.h"
#include "reintegrate/patch/kernel_family.h"
#include "reintegrate/patch/knob_reach.h"
#include "reintegrate/patch/launch_definitions.h"
#include "reintegrate/patch/open_file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr const char* kScanAgain = "; run `kernelift scan`, `record` and `extract` again";

class Planner {
 public:
  explicit Planner(const PatchQuestion& question) : q_(question), mep_(question.mep) {}

  Result<SourcePatch> run() {
    KERNELIFT_TRY(check_expressible());
    if (!q_.embedded) KERNELIFT_TRY(check_name());
    old_lines_ = split_lines(q_.original);
    new_lines_ = split_lines(q_.candidate.source);
    if (mep_.origins.size() < old_lines_.size())
      return environment_error("the MEP traces " + std::to_string(mep_.origins.size()) +
                               " lines, but its kernel file has " + std::to_string(old_lines_.size()) +
                               ": it was changed by hand; extract the kernel again");
    KERNELIFT_TRY(check_unchanged());
    if (q_.embedded) return embed();
    KERNELIFT_TRY(check_not_embedded());
    std::vector<Hunk> hunks = diff_lines(old_lines_, new_lines_);
    KERNELIFT_TRY(check_copies(hunks));
    for (auto& hunk : hunks) KERNELIFT_TRY(edit_hunk(hunk));
    Bindings changed;
    KERNELIFT_TRY(edit_knobs(changed));
    KERNELIFT_TRY(check_definitions(mep_, old_lines_, new_lines_, hunks, changed));
    KERNELIFT_TRY(edit_launches(changed));
    KERNELIFT_TRY(check_conditionals());
    return assemble();
  }

 private:
  Status check_expressible() {
    const Candidate& candidate = q_.candidate;
    if (candidate.launches.size() > 1)
      return refused(
          "the candidate launches " + std::to_string(candidate.launches.size()) +
          " kernels where the application launches one: that needs new host code, which a patch does not write");
    if (!candidate.scratch.empty())
      return refused("the candidate needs device memory of its own (" + candidate.scratch[0].bytes.text() +
                     " bytes): that needs new host code, which a patch does not write");
    return done();
  }

  Status check_name() {
    const Candidate& candidate = q_.candidate;
    if (!candidate.launches.empty() && candidate.launches[0].kernel != mep_.kernel_name)
      return refused("the candidate launches '" + candidate.launches[0].kernel + "' instead of '" + mep_.kernel_name +
                     "': the application's launch would have to name another kernel");
    return done();
  }

  /// The file a line came from, read once.
  Result<OpenFile*> open(const std::string& file) {
    if (auto found = files_.find(file); found != files_.end()) return &found->second;
    std::error_code code;
    fs::path path = q_.root / file;  // Which is `file`, if that begins at the root.
    fs::path real = fs::weakly_canonical(path, code), root = fs::weakly_canonical(q_.root, code);
    auto relative = within(real, root);
    if (!relative)
      return refused(real.string() + " would have to change, and it is outside the application (" + root.string() +
                     ")");
    OpenFile opened{real, relative->string(), {}, {}};
    KERNELIFT_ASSIGN(opened.text, read_text(real));
    // Two spellings of one path must not become two files.
    for (auto& [other, known] : files_)
      if (known.path == real) return &known;
    auto& kept = files_.emplace(file, std::move(opened)).first->second;
    kept.lines = split_lines(kept.text);
    return &kept;
  }

  bool traced(size_t line) const {
    return line < old_lines_.size() && !mep_.origins[line].file.empty() && mep_.origins[line].line > 0;
  }

  Error changed_since(const OpenFile& file, uint32_t line) const {
    return refused(file.name + ":" + std::to_string(line) +
                   " is not the line that was extracted: the file has changed since" + kScanAgain);
  }

  /// The bytes of the original file that line `line` of kernel.cu came from.
  Result<std::pair<uint64_t, uint64_t>> trace(size_t line, OpenFile*& file) {
    const LineOrigin& origin = mep_.origins[line];
    KERNELIFT_ASSIGN(file, open(origin.file));
    if (origin.line > file->lines.size()) return changed_since(*file, origin.line);
    std::string_view there = file->lines[origin.line - 1].text, here = old_lines_[line].text;
    uint64_t begin = file->offset(origin.line - 1);
    if (there == here) return std::pair{begin, begin + there.size()};
    size_t at = here.empty() ? there.npos : there.find(here);
    if (at == there.npos || there.find(here, at + 1) != there.npos) return changed_since(*file, origin.line);
    return std::pair{begin + at, begin + at + here.size()};
  }

  /// The whole slice must still be what the tree says: an edit proven on other text is proven on nothing.
  Status check_unchanged() {
    for (size_t line = 0; line < old_lines_.size(); ++line) {
      if (!traced(line) || is_outside(mep_.origins[line].file)) continue;
      OpenFile* file = nullptr;
      const LineOrigin& origin = mep_.origins[line];
      KERNELIFT_ASSIGN(file, open(origin.file));
      if (is_as_extracted(origin.file, *file)) continue;
      if (origin.line > file->lines.size()) return changed_since(*file, origin.line);
      std::string_view here = old_lines_[line].text, there = file->lines[origin.line - 1].text;
      // In a file that has changed, what a part of a line was cut from is not known.
      bool same = mep_.origin_hashes.contains(origin.file) ? here == there : could_be_sliced(here, there);
      if (!same) return changed_since(*file, origin.line);
    }
    return done();
  }

  bool is_as_extracted(const std::string& name, const OpenFile& file) {
    auto then = mep_.origin_hashes.find(name);
    if (then == mep_.origin_hashes.end()) return false;
    auto [now, is_new] = hashes_.try_emplace(&file);
    if (is_new) now->second = hash_text(file.text).hex();
    return now->second == then->second;
  }

  /// A file that is included twice is one text to the application: all its copies in the slice must change alike.
  Status check_copies(const std::vector<Hunk>& hunks) {
    std::map<size_t, std::string> edited;
    for (auto& hunk : hunks) {
      bool paired = hunk.old_end - hunk.old_begin == hunk.new_end - hunk.new_begin;
      for (size_t line = hunk.old_begin; line < hunk.old_end; ++line)
        edited[line] = paired ? std::string(new_lines_[hunk.new_begin + line - hunk.old_begin].text)
                              : "\n" + std::to_string(hunk.new_end - hunk.new_begin);
    }
    std::map<std::pair<std::string, uint32_t>, std::vector<size_t>> copies;
    for (size_t line = 0; line < old_lines_.size(); ++line)
      if (traced(line)) copies[{mep_.origins[line].file, mep_.origins[line].line}].push_back(line);
    for (auto& [line, text] : edited) {
      if (!traced(line)) continue;
      for (size_t other : copies[{mep_.origins[line].file, mep_.origins[line].line}]) {
        if (other == line || old_lines_[other].text != old_lines_[line].text) continue;
        auto found = edited.find(other);
        if (found == edited.end() || found->second != text)
          return refused(place(line) + " is included more than once, and the candidate changes only one of its copies");
      }
    }
    return done();
  }

  bool is_outside(const std::string& file) const {
    std::error_code code;
    return !within(fs::weakly_canonical(q_.root / file, code), fs::weakly_canonical(q_.root, code));
  }

  Status edit_hunk(const Hunk& hunk) {
    size_t old_count = hunk.old_end - hunk.old_begin, new_count = hunk.new_end - hunk.new_begin;
    if (old_count == 0) return insert(hunk);
    for (size_t line = hunk.old_begin; line < hunk.old_end; ++line)
      if (!traced(line))
        return refused("line " + std::to_string(line + 1) + " of the extracted kernel ('" +
                       std::string(old_lines_[line].text) +
                       "') was written by the extractor and has no place in the application");
    // One run of consecutive lines of one file, or line against line.
    bool consecutive = true;
    for (size_t line = hunk.old_begin + 1; line < hunk.old_end; ++line)
      consecutive &= mep_.origins[line].file == mep_.origins[line - 1].file &&
                     mep_.origins[line].line == mep_.origins[line - 1].line + 1;
    if (!consecutive && old_count != new_count) {
      const LineOrigin &first = mep_.origins[hunk.old_begin], &last = mep_.origins[hunk.old_end - 1];
      return refused("the edit from " + first.file + ":" + std::to_string(first.line) + " to " + last.file + ":" +
                     std::to_string(last.line) + " spans lines that are not neighbours in the application");
    }
    if (consecutive && old_count != new_count) return replace_run(hunk);
    for (size_t i = 0; i < old_count; ++i) {
      OpenFile* file = nullptr;
      KERNELIFT_ASSIGN(auto range, trace(hunk.old_begin + i, file));
      add(*file, range.first, range.second, std::string(new_lines_[hunk.new_begin + i].text));
    }
    return done();
  }

  /// Lines [old_begin, old_end), neighbours in one file, become another number of lines.
  Status replace_run(const Hunk& hunk) {
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(auto first, trace(hunk.old_begin, file));
    KERNELIFT_ASSIGN(auto last, trace(hunk.old_end - 1, file));
    size_t last_index = mep_.origins[hunk.old_end - 1].line - 1;
    bool whole = first.first == file->offset(mep_.origins[hunk.old_begin].line - 1) &&
                 last.second == file->offset(last_index) + file->lines[last_index].text.size();
    if (!whole) return refused("the edit at " + place(hunk.old_begin) + " replaces part of a line by several");
    std::string text;
    for (size_t n = hunk.new_begin; n < hunk.new_end; ++n)
      text += (n > hunk.new_begin ? std::string(file->newline()) : "") + std::string(new_lines_[n].text);
    uint64_t begin = first.first, end = last.second;
    if (hunk.new_begin == hunk.new_end) {  // Deleted lines take their line ends along.
      end = file->offset(last_index + 1);
      if (file->lines[last_index].end.empty() && begin > 0)
        begin -= file->lines[mep_.origins[hunk.old_begin].line - 2].end.size();
    }
    add(*file, begin, end, text);
    return done();
  }

  Status insert(const Hunk& hunk) {
    size_t next = hunk.old_begin;
    bool after_previous = next > 0 && traced(next - 1) &&
                          (!traced(next) || (mep_.origins[next].file == mep_.origins[next - 1].file &&
                                             mep_.origins[next].line == mep_.origins[next - 1].line + 1));
    if (!after_previous && !traced(next))
      return refused("the candidate adds '" + std::string(new_lines_[hunk.new_begin].text) +
                     "' where the extracted kernel has no line of the application beside it");
    size_t anchor = after_previous ? next - 1 : next;
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(auto range, trace(anchor, file));
    size_t index = mep_.origins[anchor].line - 1;
    if (range.second - range.first != file->lines[index].text.size())
      return refused("the candidate adds lines beside " + place(anchor) + ", of which the kernel is only a part");
    std::string text;
    std::string newline(file->newline());
    for (size_t n = hunk.new_begin; n < hunk.new_end; ++n) text += std::string(new_lines_[n].text) + newline;
    uint64_t at = file->offset(after_previous ? index + 1 : index);
    if (after_previous && file->lines[index].end.empty()) {  // After a last line that has no end: it keeps having none.
      text = newline + text.substr(0, text.size() - newline.size());
      at = file->text.size();
    }
    add(*file, at, at, text);
    return done();
  }

  std::string place(size_t line) const {
    return mep_.origins[line].file + ":" + std::to_string(mep_.origins[line].line);
  }

  void add(OpenFile& file, uint64_t begin, uint64_t end, std::string text) {
    std::string_view before = std::string_view(file.text).substr(begin, end - begin);
    if (before == text) return;
    for (auto& edit : edits_[&file])
      if (begin < end && edit.begin == begin && edit.end == end && edit.text == text)
        return;  // The same line, included twice.
    edits_[&file].push_back({file.name, begin, end, std::move(text), {}});
  }

  /// Knobs whose value differs: in the text already, if the slice holds their definition, else edited where spelled.
  Status edit_knobs(Bindings& changed) {
    for (auto& knob : mep_.knobs) {
      auto value = q_.candidate.values.find(knob.name);
      if (value == q_.candidate.values.end() || value->second == knob.value) continue;
      changed[knob.name] = value->second;
      if (knob.value_range.file.empty())
        return refused("'" + knob.name + "' is set on the compiler's command line (to " + std::to_string(knob.value) +
                       "): change it to " + std::to_string(value->second) +
                       " in the build, which a source patch does not touch");
      OpenFile* file = nullptr;
      KERNELIFT_ASSIGN(file, open(knob.value_range.file));
      if (edited(*file, knob.value_range.begin, knob.value_range.end)) continue;
      auto where = file->name + ":" + std::to_string(knob.value_range.line);
      if (knob.value_range.end > file->text.size() || knob.value_range.begin >= knob.value_range.end)
        return refused("the value of '" + knob.name + "' is not at " + where + " any more" + kScanAgain);
      auto spelled = Expression::parse(
          std::string_view(file->text).substr(knob.value_range.begin, knob.value_range.end - knob.value_range.begin));
      auto now = spelled.ok() ? spelled->evaluate({}) : Result<int64_t>(std::move(spelled).error());
      if (!now.ok() || *now != knob.value)
        return refused("the value of '" + knob.name + "' at " + where + " is not the " + std::to_string(knob.value) +
                       " that was scanned: the file has changed since" + kScanAgain);
      add(*file, knob.value_range.begin, knob.value_range.end, std::to_string(value->second));
    }
    for (auto& knob : mep_.knobs) reaches_others_ |= changed.contains(knob.name) && knob.kernels.size() > 1;
    if (KnobReach reach = q_.scan ? knob_reach(mep_, *q_.scan, changed) : KnobReach(); !reach.empty())
      notes_.push_back(text_of(reach) + ": all of them change with it.");
    return done();
  }

  bool edited(OpenFile& file, uint64_t begin, uint64_t end) {
    for (auto& edit : edits_[&file])
      if (edit.begin <= begin && end <= edit.end) return true;
    return false;
  }

  Status edit_launches(const Bindings& changed) {
    if (q_.candidate.launches.empty()) return done();
    KERNELIFT_TRY(refuse_unseen_launches());
    bool any = false;
    for (auto& site : mep_.launches) KERNELIFT_TRY(edit_site(site, changed, any));
    if (any && mep_.kernel_name.find('<') != std::string::npos && family_.others() != 0)
      KERNELIFT_TRY(edit_sibling_launches(changed));
    if (!any && mep_.launches.empty()) {
      for (auto& instance : mep_.instances) {
        KERNELIFT_ASSIGN(Geometry geometry, q_.candidate.launches[0].evaluate(instance.geometry, q_.candidate.values));
        if (geometry != instance.geometry)
          return refused("the candidate changes the launch of '" + mep_.kernel_name +
                         "', but no launch site of it is known");
      }
    }
    return done();
  }

  Result<bool> changes_geometry() const {
    bool changes = false;
    for (auto& instance : mep_.instances) {
      if (q_.candidate.launches.empty()) break;
      KERNELIFT_ASSIGN(Geometry geometry, q_.candidate.launches[0].evaluate(instance.geometry, q_.candidate.values));
      changes |= geometry != instance.geometry;
    }
    return changes;
  }

  /// A launch through a parameter or a table would go on as it was, and the kernel would not be the one that it
  /// launched.
  Status refuse_unseen_launches() {
    const ScannedKernel* mine = family_.kernel();
    KERNELIFT_ASSIGN(bool changes, changes_geometry());
    if (!mine || !changes) return done();
    for (auto& pointer : q_.scan->pointers)
      if (std::any_of(pointer.kernels.begin(), pointer.kernels.end(), [&](auto& id) { return family_.contains(id); }))
        return refused("the launch of '" + mep_.kernel_name + "' would change, but its address is taken at " +
                       pointer.range.file + ":" + std::to_string(pointer.range.line) +
                       ", and what launches it from there is not known");
    return done();
  }

  Status edit_site(const LaunchSite& site, const Bindings& changed, bool& any) {
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(file, open(site.range.file));
    bool one_template =
        std::all_of(site.kernels.begin(), site.kernels.end(), [&](auto& id) { return family_.contains(id); });
    KERNELIFT_ASSIGN(LaunchEdits edits, edit_launch(mep_, site, q_.candidate.launches[0], q_.candidate.values, changed,
                                                    file->text, one_template));
    for (auto& edit : edits.edits) add(*file, edit.begin, edit.end, edit.text);
    notes_.insert(notes_.end(), edits.notes.begin(), edits.notes.end());
    any |= !edits.edits.empty();
    return done();
  }

  /// The text that changes is that of every instance of the template, so their launches must change with it: all of
  /// them or none. What they compute is for the application's own check to say.
  Status edit_sibling_launches(const Bindings& changed) {
    std::string refusal = "the launch of '" + mep_.kernel_name +
                          "' would change, and with it the launches of its template's other instances, ";
    if (family_.others() < 0) return refused(refusal + "which are not known without a scan" + kScanAgain);
    std::string names;
    for (auto& kernel : q_.scan->kernels) {
      if (kernel.id == family_.kernel()->id || !family_.contains(kernel.id)) continue;
      bool launched = false;
      for (auto& site : q_.scan->launches) {
        if (std::find(site.kernels.begin(), site.kernels.end(), kernel.id) == site.kernels.end()) continue;
        launched = true;
        bool mine = std::any_of(mep_.launches.begin(), mep_.launches.end(), [&](auto& known) {
          return known.range.file == site.range.file && known.range.begin == site.range.begin;
        });
        bool edited_too = false;
        if (!mine) KERNELIFT_TRY(edit_site(site, changed, edited_too));
      }
      if (!launched) return refused(refusal + "but where '" + kernel.name + "' is launched is not known");
      names += (names.empty() ? "'" : ", '") + kernel.name + "'";
    }
    notes_.push_back("The launches of " + names + " change alike; only the application's own check tries them.");
    reaches_others_ = true;
    return done();
  }

  void note_reach() {
    if (mep_.kernel_name.find('<') != std::string::npos) {
      int others = family_.others();
      reaches_others_ |= others != 0;
      if (others != 0)
        notes_.push_back("'" + mep_.kernel_name + "' is an instance of a template: the edit applies to " +
                         (others == 1  ? "its other instance"
                          : others > 0 ? "its " + std::to_string(others) + " other instances"
                                       : std::string("every instance")) +
                         " too.");
    }
    const ScannedKernel* mine = family_.kernel();
    for (auto& [file, edits] : edits_) {
      bool outside = false;
      for (auto& edit : edits)
        outside |= mine && !(same_file(mine->definition.file, file->path) && edit.begin >= mine->definition.begin &&
                             edit.end <= mine->definition.end);
      if (edits.empty()) continue;
      bool header = !is_unit(*file);
      if (header)
        notes_.push_back(file->name + " is a header: every file that includes it is compiled with the change.");
      reaches_others_ |= outside;
      if (outside && mine)
        notes_.push_back("The change in " + file->name + " is not all inside '" + mep_.kernel_name +
                         "' itself: whatever else uses those lines changes too.");
    }
  }

  void note_host_functions() {
    std::string names;
    for (auto& [file, edits] : edits_)
      for (auto& name : host_functions_changed(mep_, q_.root, {file->path, file->text, edits}))
        names += (names.empty() ? "'" : ", '") + name + "'";
    if (!names.empty()) notes_.push_back(host_functions_text(names));
  }

  /// The branches that other builds compile were in no trial.
  Status check_conditionals() {
    KERNELIFT_ASSIGN(bool relaunched, changes_geometry());
    for (auto& function : mep_.functions) {
      if (is_outside(function.file)) continue;
      KERNELIFT_ASSIGN(OpenFile * file, open(function.file));
      for (auto& one : conditionals_reached(file->text, function.line, function.end_line, edits_[file], relaunched)) {
        if (one.by_architecture)
          return refused(place_of(one, file->name) +
                         " is other code on other GPUs, which the candidate does not adapt: it changes '" + one.word +
                         "' around it");
        notes_.push_back(place_of(one, file->name) + " was judged only as this build compiles it: the patch changes '" +
                         one.word + "' around it.");
      }
    }
    return done();
  }

  bool same_file(const std::string& spelled, const fs::path& path) const {
    std::error_code code;
    return fs::weakly_canonical(fs::path(spelled).is_absolute() ? fs::path(spelled) : q_.root / spelled, code) == path;
  }

  bool is_unit(const OpenFile& file) const {
    if (same_file(mep_.unit, file.path)) return true;
    if (q_.scan)
      for (auto& unit : q_.scan->units)
        if (same_file((fs::path(unit.folder) / unit.file).string(), file.path)) return true;
    return false;
  }

  /// The kernel's text stays; its launches go through a generated header beside the first of them.
  Result<SourcePatch> embed() {
    if (mep_.language != "cuda")
      return refused("embedded code is PTX, for CUDA applications; this one is " + mep_.language);
    KERNELIFT_ASSIGN(bound_, bound_variables(mep_, q_.embedded->ptx));
    KERNELIFT_TRY(check_overloads());
    KERNELIFT_ASSIGN(ShapeGuard guard, shape_guard(mep_, q_.original, q_.candidate));
    if (fs::path header = place_.existing(); mep_.launches.empty() && !header.empty()) return renew(header, guard);
    std::string launcher = place_.name(), first_refusal;
    std::vector<std::string> launched_in;
    fs::path header;
    for (auto& site : mep_.launches) {
      OpenFile* file = nullptr;
      KERNELIFT_ASSIGN(file, open(site.range.file));
      Status possible = check_site(site, *file);
      auto edits = possible.ok() ? redirect_launch(mep_, site, file->text, launcher_prefix(launcher, bound_))
                                 : std::move(possible).error();
      if (!edits.ok()) {
        if (first_refusal.empty()) first_refusal = edits.error().message;
        notes_.push_back("Left as it is: " + edits.error().message + ".");
        continue;
      }
      for (auto& edit : *edits) add(*file, edit.begin, edit.end, edit.text);
      if (header.empty()) header = file->path.parent_path() / (launcher + ".cuh");
      if (std::find(launched_in.begin(), launched_in.end(), file->name) != launched_in.end()) continue;
      launched_in.push_back(file->name);
      uint64_t at = include_place(file->text);
      std::string newline(file->newline());
      add(*file, at, at,
          "#include \"" + header.lexically_relative(file->path.parent_path()).generic_string() +
              "\"  // Tuned code for '" + mep_.kernel_name + "'." + newline);
    }
    if (launched_in.empty())
      return refused(first_refusal.empty() ? "no launch of '" + mep_.kernel_name +
                                                 "' is known, through which embedded code could be reached"
                                           : first_refusal);
    std::error_code code;
    if (fs::exists(header, code)) return refused(place_.occupied(header, launched_in));
    point_to(header.filename().string());
    note_embedding(header, guard);
    fs::path relative = header.lexically_relative(fs::weakly_canonical(q_.root, code));
    KERNELIFT_ASSIGN(std::string text,
                     launcher_text(mep_, q_.candidate, *q_.embedded, guard, bound_, launched_in, relative));
    KERNELIFT_ASSIGN(SourcePatch patch, assemble());
    patch.changes.push_back({header, relative.string(), "", text, /*created=*/true});
    patch.launcher = launcher;
    return patch;
  }

  /// What a launcher cannot do at this place, whatever the launch looks like.
  Status check_site(const LaunchSite& site, const OpenFile& file) const {
    const std::string launch = "the launch at " + site.range.file + ":" + std::to_string(site.range.line);
    if (q_.scan)
      for (auto& kernel : q_.scan->kernels)
        if (site.range.begin >= kernel.definition.begin && site.range.begin < kernel.definition.end &&
            same_file(kernel.definition.file, file.path))
          return refused(launch + " is in device code, inside '" + kernel.name + "'");
    const ScannedKernel* mine = family_.kernel();
    if (bound_.empty() || same_file(mep_.unit, file.path) || (mine && same_file(mine->definition.file, file.path)))
      return done();
    return refused(launch + " is in another file than the kernel, where '" + bound_[0].spelling +
                   "', which the kernel reads, may be another variable");
  }

  /// The launches go through an earlier patch's header already: it alone is written anew.
  Result<SourcePatch> renew(const fs::path& header, const ShapeGuard& guard) {
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(file, open(header.string()));
    if (!place_.is_own(file->text))
      return refused(header.string() + " is not a file that `kernelift apply` wrote for '" + mep_.kernel_name + "'");
    bool bound = file->text.find("class Site {") != std::string::npos;
    if (bound != !bound_.empty() ||
        (bound && file->text.find(launcher_prefix("", bound_).substr(2) + "launch(...)") == std::string::npos))
      return refused("it reads other constants than the embedded code that its launches are written for: remove " +
                     header.string() + " first");
    std::error_code code;
    fs::path relative = header.lexically_relative(fs::weakly_canonical(q_.root, code));
    KERNELIFT_ASSIGN(std::string text,
                     launcher_text(mep_, q_.candidate, *q_.embedded, guard, bound_, {mep_.unit}, relative));
    add(*file, 0, file->text.size(), text);
    note_embedding(header, guard);
    KERNELIFT_ASSIGN(SourcePatch patch, assemble());
    patch.launcher = header.stem().string();
    return patch;
  }

  void note_embedding(const fs::path& header, const ShapeGuard& guard) {
    notes_.insert(notes_.begin(), "The patch embeds PTX (" + header.filename().string() + "): " + q_.embedded->why);
    for (auto& note : q_.embedded->notes) notes_.push_back(note);
    for (auto& what : guard.unguarded) notes_.push_back("Not guarded: " + what + ".");
    for (auto& variable : bound_)
      notes_.push_back("Each launch first copies '" + variable.spelling + "' (" + std::to_string(variable.size) +
                       " bytes) to the embedded code's own.");
  }

  /// Where embedded code runs in the kernel's place, an edit of the kernel would change nothing.
  Status check_not_embedded() {
    std::error_code code;
    fs::path header = place_.existing();
    if (header.empty()) return done();
    return refused(
        "'" + mep_.kernel_name + "' runs embedded code (" +
        header.lexically_relative(fs::weakly_canonical(q_.root, code)).string() +
        "), so that a change of its source would have no effect: remove that first, as the file's head says");
  }

  /// A pointer to one of several functions of a name cannot be written without their types.
  Status check_overloads() {
    const ScannedKernel* mine = family_.kernel();
    if (!mine || mine->is_template) return done();
    for (auto& other : q_.scan->kernels)
      if (!other.is_template && other.name == mine->name && other.key != mine->key)
        return refused("there are several kernels called '" + mine->name +
                       "': a launch through a pointer could not tell them apart");
    return done();
  }

  /// Whoever changes the kernel must find out that something else runs in its place.
  void point_to(const std::string& header) {
    const ScannedKernel* mine = family_.kernel();
    if (!mine || mine->through_macro || is_outside(mine->definition.file)) return;
    auto file = open(mine->definition.file);
    if (!file.ok() || mine->definition.begin > (*file)->text.size()) return;
    const std::string& text = (*file)->text;
    size_t line = mine->definition.begin == 0 ? 0 : text.rfind('\n', mine->definition.begin - 1) + 1;
    std::string indent = text.substr(line, mine->definition.begin - line);
    if (indent.find_first_not_of(" \t") != indent.npos) return;
    add(**file, line, line,
        indent + "// Launches run the tuned code in " + header +
            " where its guard holds: after a change here, make that anew." + std::string((*file)->newline()));
  }

  Result<SourcePatch> assemble() {
    SourcePatch patch;
    const Recipe& recipe = q_.candidate.recipe;
    if (!q_.embedded) note_reach(), note_host_functions();
    for (auto& [file, edits] : edits_) {
      if (edits.empty()) continue;
      std::vector<size_t> order(edits.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&edits](size_t a, size_t b) {
        return std::tuple(edits[a].begin, edits[a].end, a) < std::tuple(edits[b].begin, edits[b].end, b);
      });
      std::string text;
      uint64_t at = 0;
      for (size_t next : order) {
        const ByteEdit& edit = edits[next];
        if (edit.begin < at)
          return refused("two edits meet in " + file->name + " near byte " + std::to_string(edit.begin) +
                         ": the kernel reads those lines twice, and the candidate changed them differently");
        text.append(file->text, at, edit.begin - at);
        text += edit.text;
        at = edit.end;
      }
      text.append(file->text, at, file->text.size() - at);
      if (text != file->text) patch.changes.push_back({file->path, file->name, file->text, text});
    }
    std::sort(patch.changes.begin(), patch.changes.end(), [](auto& a, auto& b) { return a.name < b.name; });
    if (patch.changes.empty())
      return refused(recipe.is_default() ? "the candidate is the original: there is nothing to patch"
                                         : "the whole gain is in how the kernel is compiled (" + recipe.text() +
                                               "), which the application's own compiler is not told by its source");
    if (!recipe.is_default() && !q_.embedded)
      notes_.push_back("Left out: the compiler recipe (" + recipe.text() +
                       ") cannot be written in the source; the application compiles the patch its own way.");
    patch.notes = notes_;
    patch.reaches_others = reaches_others_;
    return patch;
  }

  const PatchQuestion& q_;
  const Mep& mep_;
  const KernelFamily family_{q_.mep, q_.scan};
  const LauncherPlace place_{q_.mep, family_.kernel(), q_.scan, q_.root};
  std::vector<TextLine> old_lines_, new_lines_;
  std::vector<BoundVariable> bound_;
  std::map<std::string, OpenFile> files_;
  std::map<const OpenFile*, std::string> hashes_;
  std::map<OpenFile*, std::vector<ByteEdit>> edits_;
  std::vector<std::string> notes_;
  bool reaches_others_ = false;
};

}  // namespace

std::string SourcePatch::diff() const {
  std::string text;
  for (auto& change : changes) {
    std::string diff = unified_diff(change.name, change.before, change.after);
    if (change.created) diff.replace(0, diff.find('\n'), "--- /dev/null");
    text += diff;
  }
  return text;
}

Result<SourcePatch> plan_patch(const PatchQuestion& question) { return Planner(question).run(); }

}  // namespace kernelift
