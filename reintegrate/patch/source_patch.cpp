// Every change becomes a ByteEdit of an original file, collected in a PatchDraft: changed lines by slice_lines.h, knobs
// where their values are written, launches at their sites.
#include "reintegrate/patch/source_patch.h"

#include <algorithm>
#include <map>

#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/compiler/written/written_text.h"
#include "core/model/candidate/tune_declarations.h"
#include "core/model/kernel_key.h"
#include "core/model/knob/template_arguments.h"
#include "core/model/launch_values.h"
#include "reintegrate/embed/embedding_patch.h"
#include "reintegrate/embed/launcher_file.h"
#include "reintegrate/flags/build_line.h"
#include "reintegrate/flags/definition_place.h"
#include "reintegrate/patch/conditionals.h"
#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/patch/constants/macro_scope.h"
#include "reintegrate/patch/constants/needed_constants.h"
#include "reintegrate/patch/constants/shared_knobs.h"
#include "reintegrate/patch/host_functions.h"
#include "reintegrate/patch/kernel_beside.h"
#include "reintegrate/patch/kernel_family.h"
#include "reintegrate/patch/launch/argument_edit.h"
#include "reintegrate/patch/launch/launch_definitions.h"
#include "reintegrate/patch/launch/site_terms.h"
#include "reintegrate/patch/launch/unseen_launches.h"
#include "reintegrate/patch/patch_draft.h"
#include "reintegrate/patch/slice_lines.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

class Planner {
 public:
  /// `one_instance`: a changed text is for this instance of its template alone, as a kernel beside the original.
  Planner(const PatchQuestion& question, bool one_instance)
      : q_(question), mep_(question.mep), one_instance_(one_instance), draft_(question) {}

  Result<SourcePatch> run() {
    KERNELIFT_TRY(check_expressible());
    if (!q_.embedded) KERNELIFT_TRY(check_written());
    SliceLines lines(mep_, draft_, q_.original, macros_.text);
    if (mep_.origins.size() < lines.before().size())
      return environment_error("the MEP traces " + std::to_string(mep_.origins.size()) +
                               " lines, but its kernel file has " + std::to_string(lines.before().size()) +
                               ": it was changed by hand; extract the kernel again");
    KERNELIFT_TRY(lines.check_unchanged());
    if (q_.embedded) return plan_embedding(q_, family_, draft_);
    KERNELIFT_TRY(check_not_embedded());
    std::vector<Hunk> hunks = lines.hunks();
    KERNELIFT_TRY(lines.check_copies(hunks));
    const bool guarded = !q_.guard.empty() && !q_.launched_elsewhere;
    if ((guarded || one_instance_) && !hunks.empty()) KERNELIFT_TRY(put_beside(lines, hunks));
    for (auto& hunk : hunks) KERNELIFT_TRY(lines.edit(hunk));
    Bindings changed;
    KERNELIFT_TRY(edit_knobs(changed));
    if (guarded && !changed.empty()) return refused(one_for_all_launches(q_.guard, changed));
    KERNELIFT_TRY(check_definitions(mep_, lines.before(), lines.after(), hunks, changed));
    KERNELIFT_TRY(edit_launches(changed));
    KERNELIFT_TRY(check_conditionals());
    note_reach(), note_host_functions();
    KERNELIFT_TRY(edit_build(q_, draft_));
    if (const Recipe& recipe = q_.candidate.recipe; !recipe.of_application())
      draft_.notes.push_back("Left out: the compiler recipe (" + recipe.text() +
                             ") cannot be written in the source; the application compiles the patch its own way.");
    KERNELIFT_ASSIGN(SourcePatch patch, draft_.finish());
    KERNELIFT_TRY(check_scopes(macros_, patch));
    patch.macros = macros_.names;
    patch.introduced = std::move(introduced_), patch.judged_beside = q_.original;
    if (std::string needs = q_.launched_elsewhere ? launch_needs() : ""; !needs.empty()) {
      patch.notes.push_back("Launch it " + needs + ".");
      patch.launch_needs = std::move(needs);
    }
    if (!beside_.empty()) patch.kernel = own_name(mep_.kernel_name), patch.beside = beside_;
    return patch;
  }

 private:
  /// The candidate was admitted when it was compiled, by whatever version judged it; the patch is judged again.
  Status check_written() {
    KERNELIFT_TRY(check_name());
    std::string refusal = OwnText(q_.original).first_refusal(written_constructs(q_.candidate.source), "kernel.cu");
    if (!refusal.empty()) return refused(refusal);
    // What a template declares for its search is no part of the application.
    std::string text = with_static_functions(q_.original, without_declarations(q_.candidate.source, q_.original));
    text = with_recorded_arguments(with_definitions_of_build(std::move(text), mep_, q_.candidate), mep_, q_.candidate);
    introduced_ = introduced_names(q_.original, text);
    KERNELIFT_ASSIGN(text, with_needed_constants(std::move(text), q_, family_, draft_));
    KERNELIFT_ASSIGN(macros_, scope_macros(q_.original, text));
    return done();
  }

  Status check_expressible() {
    const Candidate& candidate = q_.candidate;
    if (candidate.launches.size() > 1)
      return refused("the candidate launches " + std::to_string(candidate.launches.size()) +
                     " kernels where the application launches one: that needs new host code, which a patch cannot add");
    if (!candidate.scratch.empty())
      return refused("the candidate needs device memory of its own (" + candidate.scratch[0].bytes.text() +
                     " bytes): that needs new host code, which a patch cannot add");
    return done();
  }

  /// Leaves in `hunks` what is added outside of the kernel.
  Status put_beside(const SliceLines& lines, std::vector<Hunk>& hunks) {
    const std::string only = only_some();
    const ScannedKernel* kernel = family_.kernel();
    if (!kernel) return refused(only + "where its kernel is defined is not known" + kScanAgain);
    KERNELIFT_ASSIGN(OpenFile * file, draft_.open(kernel->definition.file));
    const std::string comment = "Launched" + (one_instance_ ? " for " + mep_.kernel_name : "") +
                                (q_.guard.empty() ? "" : " where " + q_.guard.text()) + ".";
    // A header's kernel is every unit's own.
    beside_visible_ = is_unit(*file) && std::ranges::any_of(mep_.launches, [&](auto& site) {
                        return !draft_.same_file(site.range.file, file->path);
                      });
    auto beside =
        kernel_beside(mep_, *q_.scan, *kernel, *file, lines.before(), lines.after(), hunks, comment, beside_visible_);
    if (!beside.ok()) return refused(only + beside.error().message + " (--no-guards patches it all the same)");
    hunks = std::move(beside->added), beside_ = beside->name;
    draft_.insert_in_place_of(*file, beside->at, std::move(beside->text), std::move(beside->copied));
    draft_.notes.push_back("The kernel stays beside '" + beside_ + "', and runs " +
                           (q_.guard.empty() ? "" : "where " + q_.guard.text() + " does not hold") +
                           (q_.guard.empty() || !one_instance_ ? "" : ", and ") +
                           (one_instance_ ? "as its template's other instances" : "") + ".");
    return done();
  }

  /// The beginning of why the candidate cannot be put beside the original.
  std::string only_some() const {
    if (q_.guard.empty()) return "it was judged as '" + mep_.kernel_name + "' alone, and ";
    return "it is known to be right only where " + q_.guard.text() + ", and ";
  }

  Status check_name() {
    const Candidate& candidate = q_.candidate;
    if (!candidate.launches.empty() && candidate.launches[0].kernel != mep_.kernel_name &&
        !is_own_instance(mep_, candidate, candidate.launches[0].kernel))
      return refused("the candidate launches '" + candidate.launches[0].kernel + "' instead of '" + mep_.kernel_name +
                     "': the application's launch site would have to name another kernel");
    return done();
  }

  /// Edits definitions of knobs whose value differs, unless the slice has the definition and it is edited already.
  Status edit_knobs(Bindings& changed) {
    for (auto& knob : mep_.knobs) {
      auto value = q_.candidate.values.find(knob.name);
      if (value == q_.candidate.values.end() || value->second == knob.value) continue;
      const bool of_launch = is_template_argument(mep_, knob);
      if (!of_launch) changed[knob.name] = value->second;
      if (!of_launch && q_.scan) KERNELIFT_TRY(check_embedded_users(knob, family_.kernel(), *q_.scan, q_.root));
      if (of_launch || knob.value_range.file.empty()) {
        KERNELIFT_TRY((of_launch ? edit_argument : edit_definition)(q_, knob, value->second, draft_));
        continue;
      }
      KERNELIFT_ASSIGN(OpenFile * file, draft_.open(knob.value_range.file));
      const auto [begin, end] = std::pair(knob.value_range.begin, knob.value_range.end);
      const bool is_edited = draft_.is_edited(*file, begin, end);
      auto where = file->name + ":" + std::to_string(knob.value_range.line);
      if (end > file->text.size() || begin >= end)
        return refused("the value of '" + knob.name + "' is no longer at " + where + kScanAgain);
      const std::string_view was = std::string_view(file->text).substr(begin, end - begin);
      auto spelled = Expression::parse(was);
      auto now = spelled.ok() ? spelled->evaluate({}) : Result<int64_t>(std::move(spelled).error());
      if (!now.ok() || *now != knob.value) {
        if (is_edited) continue;  // The candidate's text is no declared edit then.
        return refused("the value of '" + knob.name + "' at " + where + " is not the " + std::to_string(knob.value) +
                       " that was scanned: the file has changed since then" + kScanAgain);
      }
      draft_.add_knob(*file, begin, end, number_like(was, value->second));
    }
    for (auto& knob : mep_.knobs) draft_.reaches_others |= changed.contains(knob.name) && knob.kernels.size() > 1;
    if (SharedKnobs shared = q_.scan ? shared_knobs(mep_, *q_.scan, changed) : SharedKnobs(); !shared.empty())
      draft_.notes.push_back(text_of(shared) + ": the patch changes all of them.");
    return done();
  }

  /// What a launch of the kernel must be like, where no file has one to edit.
  std::string launch_needs() const {
    std::string needs = q_.guard.empty() ? "" : "only where " + q_.guard.text();
    const std::string change =
        q_.candidate.launches.empty() ? "" : q_.candidate.launches[0].change(q_.candidate.values);
    if (!change.empty()) needs += (needs.empty() ? "with " : ", and with ") + change;
    return needs;
  }

  Status edit_launches(const Bindings& changed) {
    if (q_.launched_elsewhere) return done();
    if (!beside_.empty()) return choose_at_launches(changed);
    KERNELIFT_ASSIGN(bool geometry_changes, changes_geometry());
    bool any = false;
    if (!q_.candidate.launches.empty())
      for (auto& site : mep_.launches) KERNELIFT_TRY(edit_site(site, changed, any));
    KERNELIFT_TRY(check_unseen_launches(q_, family_, geometry_changes, any ? Bindings() : changed, draft_));
    if (q_.candidate.launches.empty()) return done();
    // With another argument the kernel is an instance of its own: the launches of the others stay.
    if (any && q_.candidate.launches[0].kernel == mep_.kernel_name && mep_.kernel_name.find('<') != std::string::npos &&
        family_.others() != 0)
      KERNELIFT_TRY(edit_sibling_launches(changed));
    if (!any && mep_.launches.empty()) {
      for (auto& instance : mep_.instances) {
        KERNELIFT_ASSIGN(Geometry geometry, launched(instance));
        if (geometry != instance.geometry)
          return refused("the candidate changes the launch of '" + mep_.kernel_name +
                         "', but no launch site of it is known");
      }
    }
    return done();
  }

  /// A launch that cannot choose stays as it is, which is right; one at least must. Without a guard all must, because
  /// the text itself could be changed instead.
  Status choose_at_launches(const Bindings& changed) {
    const CandidateLaunch launch =
        q_.candidate.launches.empty() ? CandidateLaunch::as_recorded(mep_.kernel_name) : q_.candidate.launches[0];
    std::string why = "no launch of it is known";
    bool any = false;
    for (auto& site : mep_.launches) {
      KERNELIFT_ASSIGN(OpenFile * file, draft_.open(site.range.file));
      auto edits = edit_launch(mep_, site, launch, q_.candidate.values, changed, file->text, false, q_.guard, beside_);
      if (edits.ok())
        if (Status seen = let_see(site, *file); !seen.ok()) edits = std::move(seen).error();
      if (!edits.ok() && q_.guard.empty()) return std::move(edits).error();
      if (!edits.ok()) {
        why = edits.error().message;
        draft_.notes.push_back("Left as it is: " + why + ".");
        continue;
      }
      for (auto& edit : edits->edits) draft_.add(*file, edit.begin, edit.end, edit.text, Author::Generated);
      draft_.notes.insert(draft_.notes.end(), edits->notes.begin(), edits->notes.end());
      any = true;
    }
    if (any) return done();
    return refused(only_some() + why + " (--no-guards patches it all the same)");
  }

  /// A launch in front of the definition, or in another unit, needs a declaration of the kernel beside.
  Status let_see(const LaunchSite& site, OpenFile& file) {
    const SourceRange& definition = family_.kernel()->definition;
    KERNELIFT_ASSIGN(OpenFile * defining, draft_.open(definition.file));
    const bool same = &file == defining;
    if (same ? site.range.begin >= definition.end : !is_unit(*defining)) return done();
    const std::string name = own_name(mep_.kernel_name);
    auto blind = [&](const std::string& why) {
      return refused("the launch at " + place_of(site.range) + " does not see a kernel beside '" + mep_.kernel_name +
                     "': " + why);
    };
    if (!same && mep_.kernel_name.find('<') != std::string::npos)
      return blind("it is a template that another unit instantiates");
    for (OpenFile* seen : draft_.included_from(file)) {
      auto declaration = declaration_beside(seen->text, name, beside_, beside_visible_);
      if (!declaration || (seen == &file && declaration->at > site.range.begin)) continue;
      std::string text = declaration->text;
      if (seen->newline() == "\r\n") text.insert(0, "\r");
      draft_.add(*seen, declaration->at, declaration->at, text, Author::Generated);
      return done();
    }
    return blind("no declaration of it was found in " + file.name + " and what that includes of the application");
  }

  /// How the candidate was launched for the instance.
  Result<Geometry> launched(const MepInstance& instance) const {
    return q_.candidate.launches[0].evaluate(instance.geometry, with_arguments(mep_, instance, q_.candidate.values));
  }

  Result<bool> changes_geometry() const {
    bool changes = false;
    for (auto& instance : mep_.instances) {
      if (q_.candidate.launches.empty()) break;
      KERNELIFT_ASSIGN(Geometry geometry, launched(instance));
      changes |= geometry != instance.geometry;
    }
    return changes;
  }

  Status edit_site(const LaunchSite& site, const Bindings& changed, bool& any) {
    KERNELIFT_ASSIGN(OpenFile * file, draft_.open(site.range.file));
    bool one_template = std::ranges::all_of(site.kernels, [&](auto& id) { return family_.contains(id); });
    KERNELIFT_ASSIGN(LaunchEdits edits, edit_launch(mep_, site, q_.candidate.launches[0], q_.candidate.values, changed,
                                                    file->text, one_template, q_.guard));
    for (auto& edit : edits.edits) draft_.add(*file, edit.begin, edit.end, edit.text, Author::Generated);
    draft_.notes.insert(draft_.notes.end(), edits.notes.begin(), edits.notes.end());
    any |= !edits.edits.empty();
    return done();
  }

  /// The edited text belongs to every instance of the template, so the launches of all instances must change too. Only
  /// the application's own check verifies the other instances.
  Status edit_sibling_launches(const Bindings& changed) {
    std::string refusal = "the launch of '" + mep_.kernel_name +
                          "' would change, and so must the launches of its template's other instances, ";
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
    draft_.notes.push_back("The launches of " + names +
                           " change in the same way; only the application's own check verifies them.");
    draft_.reaches_others = true;
    return done();
  }

  void note_reach() {
    const ScannedKernel* mine = family_.kernel();
    bool in_template = !mine && beside_.empty();
    std::vector<std::string> notes;
    for (auto& [file, edits] : draft_.edits()) {
      bool outside = false;  // What is generated is the kernel's own launch.
      for (auto& edit : edits) {
        if (!mine || edit.author == Author::Generated || draft_.is_argument(*file, edit)) continue;
        const bool inside = draft_.same_file(mine->definition.file, file->path) &&
                            edit.begin >= mine->definition.begin && edit.end <= mine->definition.end;
        in_template |= inside && beside_.empty();
        // A declaration that is only added reaches nobody, if its names are new: an overload may.
        const bool added = edit.begin == edit.end && is_at_namespace_scope(file->text, edit.begin) &&
                           std::ranges::includes(introduced_.declared, introduced_names("", edit.text).declared);
        outside |= !added && !inside && beside_.empty() && !in_own_lambda(*file, edit);
      }
      if (edits.empty() || draft_.is_of_build(*file)) continue;
      bool header = !is_unit(*file);
      if (header)
        notes.push_back(file->name + " is a header: every file that includes it is compiled with the change.");
      draft_.reaches_others |= outside;
      if (outside && mine)
        notes.push_back("The change in " + file->name + " is not all inside '" + mep_.kernel_name +
                        "' itself: other code that uses those lines changes too.");
    }
    if (mep_.kernel_name.find('<') != std::string::npos && in_template) {
      int others = family_.others();
      draft_.reaches_others |= others != 0;
      if (others != 0)
        draft_.notes.push_back("'" + mep_.kernel_name + "' is an instance of a template: the edit applies to " +
                               (others == 1  ? "its other instance"
                                : others > 0 ? "its " + std::to_string(others) + " other instances"
                                             : std::string("every instance")) +
                               " too.");
    }
    draft_.notes.insert(draft_.notes.end(), notes.begin(), notes.end());
  }

  /// The lambda that the kernel was made for is its own text, unlike the template that runs it.
  bool in_own_lambda(const OpenFile& file, const ByteEdit& edit) const {
    return std::ranges::any_of(mep_.functions, [&](auto& function) {
      return family_.is_own_lambda(function) && draft_.same_file(function.file, file.path) && function.line > 0 &&
             edit.begin >= file.offset(function.line - 1) && edit.end <= file.offset(function.end_line);
    });
  }

  void note_host_functions() {
    std::string names;
    for (auto& [file, edits] : draft_.edits())
      for (auto& name : host_functions_changed(mep_, q_.root, {file->path, file->text, edits}))
        names += (names.empty() ? "'" : ", '") + name + "'";
    if (!names.empty()) draft_.notes.push_back(host_functions_text(names));
  }

  /// Refuses or notes conditionals whose other branches, compiled by other builds, were not part of any trial.
  Status check_conditionals() {
    KERNELIFT_ASSIGN(bool geometry_changes, changes_geometry());
    if (geometry_changes || !beside_.empty()) KERNELIFT_TRY(check_other_definitions());
    for (auto& function : mep_.functions) {
      if (draft_.is_outside(function.file)) continue;
      KERNELIFT_ASSIGN(OpenFile * file, draft_.open(function.file));
      for (auto& one : affected_conditionals(file->text, function.line, function.end_line, draft_.edits_of(file),
                                             geometry_changes)) {
        if (one.by_architecture)
          return refused(location_of(one, file->name) +
                         " selects other code on other GPUs, which the candidate does not adapt: it changes '" +
                         one.word + "' around it");
        draft_.notes.push_back(location_of(one, file->name) +
                               " was judged only as this build compiles it: the patch changes '" + one.word +
                               "' around it.");
      }
    }
    return done();
  }

  /// Another branch of a conditional may define the kernel once more: the same launch, which changes, would run that
  /// one.
  Status check_other_definitions() {
    const ScannedKernel* kernel = family_.kernel();
    if (!kernel || draft_.is_outside(kernel->definition.file)) return done();
    KERNELIFT_ASSIGN(OpenFile * file, draft_.open(kernel->definition.file));
    for (size_t at : definitions_of(file->text, own_name(mep_.kernel_name))) {
      auto is_there = [&](const ScannedKernel& one) {
        return draft_.same_file(one.definition.file, file->path) && one.definition.begin <= at &&
               at < one.definition.end;
      };
      if (std::ranges::none_of(q_.scan->kernels, is_there))
        return refused(
            "the launch of '" + mep_.kernel_name + "' would change, and " + file->name + ":" +
            std::to_string(1 + std::count(file->text.begin(), file->text.begin() + static_cast<ptrdiff_t>(at), '\n')) +
            " defines it once more, in code that this build leaves out");
    }
    return done();
  }

  bool is_unit(const OpenFile& file) const {
    if (draft_.same_file(mep_.unit, file.path)) return true;
    if (q_.scan)
      for (auto& unit : q_.scan->units)
        if (draft_.same_file((fs::path(unit.folder) / unit.file).string(), file.path)) return true;
    return false;
  }

  /// If embedded code runs instead of the kernel, an edit of the kernel would have no effect.
  Status check_not_embedded() {
    std::error_code code;
    fs::path header = LauncherFile(mep_, family_.kernel(), q_.scan, q_.root).existing();
    if (header.empty()) return done();
    return refused(
        "'" + mep_.kernel_name + "' runs embedded code (" +
        header.lexically_relative(fs::weakly_canonical(q_.root, code)).string() +
        "), so a change of its source would have no effect: remove that file first, as its first lines describe");
  }

  const PatchQuestion& q_;
  const Mep& mep_;
  const bool one_instance_;
  const KernelFamily family_{q_.mep, q_.scan};
  PatchDraft draft_;
  IntroducedNames introduced_;
  ScopedMacros macros_;
  std::string beside_;           ///< Name of the kernel beside the original; empty: there is none.
  bool beside_visible_ = false;  ///< Other units launch it.
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

Hash SourcePatch::identity() const {
  Hasher hasher;
  for (auto& change : changes) hasher.add(change.path.string()).add(change.before).add(change.after);
  return hasher.finish();
}

Result<SourcePatch> plan_patch(const PatchQuestion& question) {
  // What was judged is one instance; where launches cannot tell it from the others, these change, too.
  const bool instance = !question.embedded && !question.launched_elsewhere &&
                        question.mep.kernel_name.find('<') != std::string::npos &&
                        KernelFamily(question.mep, question.scan).others() > 0;
  auto planned = Planner(question, instance).run();
  if (instance && !planned.ok() && planned.error().exit == Exit::Refused) planned = Planner(question, false).run();
  if (!planned.ok()) return planned;
  planned->kernel_id = question.mep.kernel_id;
  if (question.scan && !question.embedded)
    for (auto* other : shared_knobs(question.mep, *question.scan, question.candidate.values).others)
      planned->users_of_new_values.insert(other->id);
  return planned;
}

}  // namespace kernelift::reintegrate
