// See findings_file.h.
#include "tuner/source/hypotheses/findings_file.h"

#include <algorithm>
#include <sstream>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

constexpr std::string_view kHeading = "## ";
constexpr size_t kLongestLineOfBody = 600;

/// The value of the line "- NAME: value".
std::string value_of(const std::string& body, const std::string& name) {
  const std::string head = "- " + name + ": ";
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(head)) return without_outer_blanks(line.substr(head.size()));
  return {};
}

FindingsFile::Section section_of(std::string heading, std::string body) {
  FindingsFile::Section section{std::move(heading), {}, {}, {}, std::move(body)};
  const std::string run = value_of(section.body, "run");
  section.run = run.substr(0, run.find(','));
  section.device = value_of(section.body, "device");
  section.family = family_from_name(value_of(section.body, "family"));
  return section;
}

FindingsFile::Section section_of(const Finding& finding, const std::string& run) {
  const Hypothesis& card = finding.hypothesis;
  std::string body;
  auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) body += "- " + markdown_text(std::string(name) + ": " + value) + "\n";
  };
  body += "- run: " + run + ", hypothesis " + std::to_string(card.number) +
          (finding.trial ? ", candidate #" + std::to_string(finding.trial) : "") + " from #" +
          std::to_string(card.base) + "\n- device: " + shown_line(finding.device) + "\n- family: " + name(card.family) +
          "\n";
  line("bound", card.bound);
  line("predicted", card.prediction());
  line("measured", finding.measured);
  line("why", finding.why);
  line("cost", finding.cost_text());
  line("cost per gain", finding.cost_per_gain());
  return {std::string(name(finding.conclusion)) + ": " + markdown_text(card.change), run, shown_line(finding.device),
          card.family, body + "\n"};
}

}  // namespace

std::string FindingsFile::Section::in_one_line() const {
  std::string text = heading;
  for (auto* part : {"predicted", "measured", "why"})
    if (std::string value = value_of(body, part); !value.empty()) text += std::string("; ") + part + " " + value;
  if (run.empty()) text += "; " + without_outer_blanks(body);
  return shown_line(text, kLongestLineOfBody);
}

Result<FindingsFile> FindingsFile::read(const fs::path& file) {
  FindingsFile read;
  std::error_code error;
  if (!fs::exists(file, error)) return read;
  KERNELIFT_ASSIGN(std::string text, read_text(file));
  std::istringstream lines(text);
  std::string heading, body;
  auto close = [&] {
    if (!heading.empty()) read.sections_.push_back(section_of(heading, body));
    heading.clear(), body.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(kHeading)) close(), heading = line.substr(kHeading.size());
    else if (!heading.empty()) body += line + "\n";
  }
  close();
  return read;
}

std::vector<FindingsFile::Section> FindingsFile::relevant(const std::string& device, std::optional<Family> family,
                                                          const std::string& run) const {
  struct Ranked {
    int worth = 0;
    const Section* section = nullptr;
  };
  std::vector<Ranked> ranked;
  for (auto& section : sections_) {
    if (!run.empty() && section.run == run) continue;
    // A person's section stands for itself.
    int worth = section.run.empty() ? 5 : 0;
    worth += 3 * (section.device == device) + (family && section.family == family);
    worth += !section.heading.starts_with("confounded");
    ranked.push_back({worth, &section});
  }
  // Later ones first among equals.
  std::ranges::sort(ranked,
                    [](auto& a, auto& b) { return a.worth != b.worth ? a.worth > b.worth : a.section > b.section; });
  std::vector<Section> sections;
  for (auto& one : ranked) sections.push_back(*one.section);
  return sections;
}

Result<FindingsFile> FindingsFile::update(const fs::path& file, const std::string& kernel, const std::string& run,
                                          const std::vector<Finding>& findings) {
  KERNELIFT_ASSIGN(FindingsFile kept, read(file));  // Again: another run may have added to it.
  std::erase_if(kept.sections_, [&](auto& section) { return section.run == run; });
  for (auto& finding : findings) kept.sections_.push_back(section_of(finding, run));
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::string text =
      "# Findings about " + markdown_text(kernel) +
      "\n\nHypotheses of language models that Kernelift tested. Later prompts quote them. Sections without "
      "a line `- run:` are yours: they are kept and quoted as well.\n\n";
  for (auto& section : kept.sections_) text += std::string(kHeading) + section.heading + "\n" + section.body;
  KERNELIFT_TRY(write_atomically(file, std::string_view(text)));
  return kept;
}

fs::path findings_path(const fs::path& folder, const std::string& kernel) {
  constexpr size_t kLongest = 80;
  std::string name;
  for (char c : kernel)
    if (word_character(c) || c == '-') name += c;
  const bool changed = name != kernel || name.size() > kLongest;
  name.resize(std::min(name.size(), kLongest));
  if (changed) name += "-" + hash_text(kernel).hex().substr(0, 8);
  return folder / (name + ".md");
}

}  // namespace kernelift::tuner
