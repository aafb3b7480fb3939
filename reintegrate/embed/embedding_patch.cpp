// A launch that cannot be redirected keeps launching the original, and the report says so; the patch is refused only if
// no launch can be redirected. If the launches go through an earlier patch's header already, that file alone is
// generated again.
#include "reintegrate/embed/embedding_patch.h"

#include <algorithm>

#include "reintegrate/embed/bound_variables.h"
#include "reintegrate/embed/launcher.h"
#include "reintegrate/embed/launcher_file.h"
#include "reintegrate/embed/redirect.h"
#include "reintegrate/embed/shape_guard.h"
#include "reintegrate/patch/kernel_beside.h"
#include "reintegrate/patch/launch/site_terms.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

class EmbeddingPlanner {
 public:
  EmbeddingPlanner(const PatchQuestion& question, const KernelFamily& family, PatchDraft& draft)
      : q_(question), mep_(question.mep), family_(family), draft_(draft) {}

  Result<SourcePatch> run() {
    if (mep_.language != "cuda")
      return refused("embedded code is PTX, which only CUDA applications can launch; this one is " + mep_.language);
    KERNELIFT_ASSIGN(bound_, bound_variables(mep_, q_.embedded->ptx));
    KERNELIFT_TRY(check_overloads());
    KERNELIFT_ASSIGN(TestedMacros tested, tested_macros());
    KERNELIFT_ASSIGN(ShapeGuard guard, shape_guard(mep_, q_.original, q_.candidate, q_.guard, q_.settled, tested));
    if (fs::path header = launcher_file_.existing(); mep_.launches.empty() && !header.empty())
      return renew(header, guard);
    std::string launcher = launcher_file_.name(), first_refusal;
    std::vector<std::string> launched_in;
    fs::path header;
    for (auto& site : mep_.launches) {
      OpenFile* file = nullptr;
      KERNELIFT_ASSIGN(file, draft_.open(site.range.file));
      Status possible = check_site(site, *file);
      auto edits = possible.ok() ? redirect_launch(mep_, site, file->text, launcher_prefix(launcher, bound_))
                                 : std::move(possible).error();
      if (!edits.ok()) {
        if (first_refusal.empty()) first_refusal = edits.error().message;
        draft_.notes.push_back("Not redirected: " + edits.error().message + ".");
        continue;
      }
      for (auto& edit : *edits) draft_.add(*file, edit.begin, edit.end, edit.text, Author::Generated);
      if (header.empty()) header = file->path.parent_path() / (launcher + ".cuh");
      if (std::find(launched_in.begin(), launched_in.end(), file->name) != launched_in.end()) continue;
      launched_in.push_back(file->name);
      uint64_t at = include_offset(file->text);
      std::string newline(file->newline());
      draft_.add(*file, at, at,
                 "#include \"" + header.lexically_relative(file->path.parent_path()).generic_string() +
                     "\"  // Tuned code for '" + mep_.kernel_name + "'." + newline,
                 Author::Generated);
    }
    if (launched_in.empty())
      return refused(first_refusal.empty() ? "no launch of '" + mep_.kernel_name +
                                                 "' is known through which embedded code could be reached"
                                           : first_refusal);
    std::error_code code;
    if (fs::exists(header, code)) return refused(launcher_file_.occupied(header, launched_in));
    add_comment_above_kernel(header.filename().string());
    note_embedding(header, guard);
    fs::path relative = header.lexically_relative(fs::weakly_canonical(q_.root, code));
    KERNELIFT_ASSIGN(std::string text,
                     launcher_text(mep_, q_.candidate, *q_.embedded, guard, bound_, launched_in, relative));
    KERNELIFT_ASSIGN(SourcePatch patch, draft_.finish());
    patch.changes.push_back({header, relative.string(), "", text, /*created=*/true, "", text});
    patch.launcher = launcher;
    return patch;
  }

 private:
  /// A pointer to one of several overloads cannot be written without their parameter types.
  Status check_overloads() const {
    const ScannedKernel* mine = family_.kernel();
    if (!mine || mine->is_template) return done();
    for (auto& other : q_.scan->kernels)
      if (!other.is_template && other.name == mine->name && other.key != mine->key)
        return refused("there are several kernels called '" + mine->name +
                       "': a launch through a function pointer would be ambiguous");
    return done();
  }

  /// Of all functions that the kernel runs. Without their list, of an earlier version's MEP, of the kernel alone.
  Result<TestedMacros> tested_macros() {
    TestedMacros tested;
    auto look_at = [&](const std::string& name, uint32_t begin, uint32_t end) -> Status {
      if (draft_.is_outside(name)) return done();
      KERNELIFT_ASSIGN(OpenFile * file, draft_.open(name));
      tested.look_at(file->text, begin, end);
      return done();
    };
    for (auto& function : mep_.functions) KERNELIFT_TRY(look_at(function.file, function.line, function.end_line));
    if (const ScannedKernel* mine = family_.kernel(); mine && mep_.functions.empty())
      KERNELIFT_TRY(look_at(mine->definition.file, mine->definition.line, mine->definition.end_line));
    if (!tested.names.empty()) tested.add_definitions_below(q_.root);
    return tested;
  }

  /// Refuses launch sites at which no launcher can be used, whatever form the launch has.
  Status check_site(const LaunchSite& site, const OpenFile& file) const {
    const std::string launch = "the launch at " + place_of(site.range);
    if (q_.scan)
      for (auto& kernel : q_.scan->kernels)
        if (site.range.begin >= kernel.definition.begin && site.range.begin < kernel.definition.end &&
            draft_.same_file(kernel.definition.file, file.path))
          return refused(launch + " is in device code, inside '" + kernel.name + "'");
    KERNELIFT_TRY(check_namesakes(site, launch));
    const ScannedKernel* mine = family_.kernel();
    if (bound_.empty() || draft_.same_file(mep_.unit, file.path) ||
        (mine && draft_.same_file(mine->definition.file, file.path)))
      return done();
    return refused(launch + " is in another file than the kernel, where '" + bound_[0].spelling +
                   "', which the kernel reads, may be another variable");
  }

  /// A file that several units include may launch a kernel that each of them defines: there the tuned kernel's name is
  /// that of another one, too, and comparing addresses at run time compares that one with itself.
  Status check_namesakes(const LaunchSite& site, const std::string& launch) const {
    if (!q_.scan) return done();
    for (auto& other : q_.scan->kernels)
      if (std::ranges::find(site.kernels, other.id) != site.kernels.end() && !family_.contains(other.id) &&
          own_name(other.name) == own_name(mep_.kernel_name))
        return refused(launch + " also serves the kernel '" + other.name + "' of " + other.definition.file + ":" +
                       std::to_string(other.definition.line) +
                       ", which has the same name: the launcher could not distinguish them");
    return done();
  }

  /// Generates the existing header again; no launch changes.
  Result<SourcePatch> renew(const fs::path& header, const ShapeGuard& guard) {
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(file, draft_.open(header.string()));
    if (!launcher_file_.is_own(file->text))
      return refused(header.string() + " is not a file that `kernelift apply` wrote for '" + mep_.kernel_name + "'");
    bool bound = file->text.find("class Site {") != std::string::npos;
    if (bound != !bound_.empty() ||
        (bound && file->text.find(launcher_prefix("", bound_).substr(2) + "launch(...)") == std::string::npos))
      return refused("the launches were written for embedded code that reads other constants: remove " +
                     header.string() + " first");
    std::error_code code;
    fs::path relative = header.lexically_relative(fs::weakly_canonical(q_.root, code));
    KERNELIFT_ASSIGN(std::string text,
                     launcher_text(mep_, q_.candidate, *q_.embedded, guard, bound_, {mep_.unit}, relative));
    draft_.add(*file, 0, file->text.size(), text, Author::Generated);
    note_embedding(header, guard);
    KERNELIFT_ASSIGN(SourcePatch patch, draft_.finish());
    patch.launcher = header.stem().string();
    return patch;
  }

  void note_embedding(const fs::path& header, const ShapeGuard& guard) {
    draft_.notes.insert(draft_.notes.begin(),
                        "The patch embeds PTX (" + header.filename().string() + "): " + q_.embedded->why);
    for (auto& note : q_.embedded->notes) draft_.notes.push_back(note);
    for (auto& what : guard.unguarded) draft_.notes.push_back("Not guarded: " + what + ".");
    for (auto& variable : bound_)
      draft_.notes.push_back("Each launch first copies '" + variable.spelling + "' (" + std::to_string(variable.size) +
                             " bytes) to the embedded code's own copy.");
  }

  /// Adds a comment above the kernel, so that whoever changes the kernel learns that other code runs in its place.
  void add_comment_above_kernel(const std::string& header) {
    const ScannedKernel* mine = family_.kernel();
    if (!mine || mine->through_macro || draft_.is_outside(mine->definition.file)) return;
    auto file = draft_.open(mine->definition.file);
    if (!file.ok() || mine->definition.begin > (*file)->text.size()) return;
    const std::string& text = (*file)->text;
    size_t line = mine->definition.begin == 0 ? 0 : text.rfind('\n', mine->definition.begin - 1) + 1;
    std::string indent = text.substr(line, mine->definition.begin - line);
    if (indent.find_first_not_of(" \t") != indent.npos) return;
    draft_.add(**file, line, line,
               indent + "// Launches run the tuned code in " + header +
                   " where its guard holds: after a change here, generate that file again." +
                   std::string((*file)->newline()),
               Author::Generated);
  }

  const PatchQuestion& q_;
  const Mep& mep_;
  const KernelFamily& family_;
  PatchDraft& draft_;
  const LauncherFile launcher_file_{q_.mep, family_.kernel(), q_.scan, q_.root};
  std::vector<BoundVariable> bound_;
};

}  // namespace

Result<SourcePatch> plan_embedding(const PatchQuestion& question, const KernelFamily& family, PatchDraft& draft) {
  return EmbeddingPlanner(question, family, draft).run();
}

}  // namespace kernelift::reintegrate
