// See skill_file.h.
#include "cli/skill_file.h"

#include <optional>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/output.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

const std::string kBegin = "<!-- kernelift:begin ", kEnd = "<!-- kernelift:end -->\n";

struct Skill {
  std::string head, body;  ///< The head with its lines of "---".
};

Skill split(const std::string& text) {
  const size_t end = text.starts_with("---\n") ? text.find("\n---\n", 4) : text.npos;
  if (end == text.npos) return {"", text};
  const size_t body = text.find_first_not_of('\n', end + 5);
  return {text.substr(0, end + 5), body == text.npos ? "" : text.substr(body)};
}

/// The value of a line "key: value" of the head.
std::string value_in(const std::string& head, const std::string& key) {
  const size_t at = head.find("\n" + key + ": ");
  if (at == head.npos) return "";
  const size_t begin = at + key.size() + 3;
  return head.substr(begin, head.find('\n', begin) - begin);
}

std::string section(const std::string& body) {
  return kBegin + hash_text(body).hex() + " (written by kernelift skill) -->\n" + body + kEnd;
}

struct Found {
  size_t begin = 0, end = 0;
  bool changed = false;  ///< Its text is not the one that was written.
};
std::optional<Found> find_section(const std::string& text) {
  const size_t begin = text.find(kBegin);
  if (begin == text.npos) return std::nullopt;
  const size_t body = text.find('\n', begin), end = text.find(kEnd, begin);
  if (body == text.npos || end == text.npos || end < body) return std::nullopt;
  const std::string hash =
      text.substr(begin + kBegin.size(), text.find(' ', begin + kBegin.size()) - begin - kBegin.size());
  return Found{begin, end + kEnd.size(), hash_text(text.substr(body + 1, end - body - 1)).hex() != hash};
}

}  // namespace

std::string SkillFile::text() const {
  switch (done) {
    case Done::Written: return "wrote " + path.string();
    case Done::Added: return "added a section to " + path.string() + "; what was there before stays as it is";
    case Done::Replaced: return "replaced Kernelift's own section in " + path.string() + "; all else stays as it is";
    default: return path.string() + " has this text already";
  }
}

Result<SkillFile> install_skill(const std::string& agent, const std::string& skill, const fs::path& folder,
                                bool replace) {
  const Skill parts = split(skill);
  SkillFile file;
  std::string head;
  if (agent == "claude") {
    file.path = folder / ".claude/skills/kernelift/SKILL.md", head = parts.head + "\n";
  } else if (agent == "cursor") {
    file.path = folder / ".cursor/rules/kernelift.mdc";
    head = "---\ndescription: " + value_in(parts.head, "description") + "\nalwaysApply: false\n---\n\n";
  } else if (agent == "codex") {
    file.path = folder / "AGENTS.md";
  } else {
    return usage_error("Kernelift knows where claude, codex and cursor look, not '" + agent + "'");
  }
  std::error_code code;
  if (!fs::is_directory(folder, code)) return usage_error(folder.string() + " is no folder");
  const std::string ours = section(parts.body);
  std::string text;
  if (!fs::exists(file.path, code)) {
    text = head + ours;
    fs::create_directories(file.path.parent_path(), code);
  } else {
    KERNELIFT_ASSIGN(text, read_text(file.path));
    const auto found = find_section(text);
    if (found && found->changed && !replace)
      return refused(file.path.string() +
                     " has a section of Kernelift's that somebody has changed: --replace writes "
                     "over it");
    if (!found && agent != "codex" && !replace)
      return refused(file.path.string() + " is there already and is not Kernelift's: --replace writes over it");
    const std::string before = text;
    if (found) text.replace(found->begin, found->end - found->begin, ours), file.done = SkillFile::Done::Replaced;
    else if (agent != "codex") text = head + ours;
    else text += (text.empty() ? "" : text.ends_with('\n') ? "\n" : "\n\n") + ours, file.done = SkillFile::Done::Added;
    if (text == before) {
      file.done = SkillFile::Done::Kept;
      return file;
    }
  }
  KERNELIFT_TRY(write_output(file.path, text));
  return file;
}

}  // namespace kernelift::cli
