// See linked_units.h. The text is a file that includes the units: their own includes are resolved relative to their
// files, and headers that they share are entered once. What two units each have for themselves under one name, a static
// helper, has another name in the second, by a macro around it.
#include "extractor/slice/linked_units.h"

#include <algorithm>

#include "clang/AST/Decl.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/architecture.h"
#include "extractor/scan/kernel_finder.h"

namespace kernelift::extractor {
namespace {

Result<UnitCommand> command_of(const ScannedUnit& unit) {
  UnitCommand command;
  command.file = unit.file, command.folder = unit.folder, command.argv = unit.command;
  KERNELIFT_ASSIGN(command.parsed, parse_compiler_command(command.argv, command.folder));
  for (auto& input : command.parsed.inputs) command.hip |= input.language == SourceInput::Language::Hip;
  return command;
}

bool defines(const clang::Decl* declaration) {
  if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration))
    return function->isThisDeclarationADefinition();
  auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
  return variable && variable->isThisDeclarationADefinition() != clang::VarDecl::DeclarationOnly;
}

/// Functions and variables of the unit's own file that no other unit sees.
void add_internal(const ParsedUnit& parsed, const SourceItem& item, std::set<std::string>& names) {
  if (item.file != parsed.sources.getMainFileID()) return;
  for (auto* declaration : item.declarations) {
    auto* named = llvm::dyn_cast<clang::NamedDecl>(declaration);
    const bool value = llvm::isa<clang::FunctionDecl>(declaration) || llvm::isa<clang::VarDecl>(declaration);
    if (value && named && named->getIdentifier() && named->getFormalLinkage() == clang::Linkage::Internal)
      names.insert(named->getName().str());
  }
}

/// Removes the names that the unit itself defines from `names`. False if it defines none of them.
Result<bool> take_defined(const UnitCommand& unit, const std::string& root, std::set<std::string>& names,
                          std::set<std::string>& internal) {
  bool found = false;
  auto look = [&](ParsedUnit& parsed) {
    SourceItems items(parsed);
    for (auto& item : items.all()) {
      for (auto* declaration : item.declarations)
        if (defines(declaration))
          found |= names.erase(mangled_name(parsed, llvm::cast<clang::NamedDecl>(declaration))) > 0;
      add_internal(parsed, item, internal);
    }
  };
  KERNELIFT_TRY(parse_unit(unit, root, look));
  return found;
}

/// The name alone of "app::helper(float)".
std::string identifier(const std::string& mangled) {
  std::string name = base_name(canonical_key(mangled));
  return name.substr(name.rfind(':') + 1);
}

}  // namespace

Result<LinkedUnits> LinkedUnits::begin(const ScanIndex& index, const ScannedUnit& first, int ptx_version) {
  KERNELIFT_ASSIGN(UnitCommand command, command_of(first));
  if (!command.hip) command.arch = architecture_that_ran(command.parsed, ptx_version);
  return LinkedUnits(index, std::move(command));
}

Result<bool> LinkedUnits::add_definers(std::set<std::string> mangled) {
  if (!first_.parsed.relocatable) return false;
  // Parsing is slow: units whose text contains a name are tried first, and the others are rarely needed.
  std::vector<const ScannedUnit*> units, others;
  for (auto& unit : index_->units) {
    if (unit.file == first_.file || std::ranges::count(files_, unit.file, &Unit::file) > 0) continue;
    auto text = read_text(unit.file);
    bool spelled = text.ok() && std::ranges::any_of(mangled, [&](auto& name) {
                     return text->find(identifier(name)) != std::string::npos;
                   });
    (spelled ? units : others).push_back(&unit);
  }
  units.insert(units.end(), others.begin(), others.end());
  bool added = false;
  for (auto* unit : units) {
    if (mangled.empty()) break;
    KERNELIFT_ASSIGN(UnitCommand command, command_of(*unit));
    if (!command.parsed.relocatable || command.folder != first_.folder ||
        command.parsed.frontend_flags() != first_.parsed.frontend_flags())
      continue;
    std::set<std::string> internal;
    KERNELIFT_ASSIGN(bool definer, take_defined(command, index_->root, mangled, internal));
    if (definer) files_.push_back({unit->file, std::move(internal)});
    added |= definer;
  }
  if (added) KERNELIFT_TRY(write_text());
  return added;
}

Status LinkedUnits::write_text() {
  if (!folder_) {
    KERNELIFT_ASSIGN(folder_, TemporaryFolder::create("kernelift-units-"));
  }
  if (!internal_of_first_) {
    std::set<std::string> none;
    KERNELIFT_TRY(take_defined(first_, index_->root, none, internal_of_first_.emplace()));
  }
  std::set<std::string> taken = *internal_of_first_;
  std::string text = "#include \"" + first_.file + "\"\n";
  for (size_t i = 0; i < files_.size(); ++i) {
    std::string before, behind;
    for (auto& name : files_[i].internal) {
      if (taken.insert(name).second) continue;
      before += "#define " + name + " " + name + "_of_unit_" + std::to_string(i + 2) + "\n";
      behind += "#undef " + name + "\n";
    }
    text += before + "#include \"" + files_[i].file + "\"\n" + behind;
  }
  command_.file = folder_->path() / "units.cu";
  return write_atomically(command_.file, text);
}

}  // namespace kernelift::extractor
