// Offsets are computed from the lines, which point into the text.
#include "reintegrate/patch/open_file.h"

namespace kernelift::reintegrate {

uint64_t OpenFile::offset(size_t line) const {
  return line < lines.size() ? static_cast<uint64_t>(lines[line].text.data() - text.data()) : text.size();
}

std::string_view OpenFile::newline() const {
  for (auto& line : lines)
    if (!line.end.empty()) return line.end;
  return "\n";
}

bool could_be_sliced(std::string_view line, std::string_view from) {
  if (from.find(line) != from.npos) return true;
  if (line.starts_with("#include ")) return from.find("include") != from.npos && from.find(line.substr(9)) != from.npos;
  for (size_t cut = line.find(';'); cut != line.npos; cut = line.find(';', cut + 1)) {
    size_t head = from.find(line.substr(0, cut));
    if (head != from.npos && from.find(line.substr(cut + 1), head + cut) != from.npos) return true;
  }
  return false;
}

}  // namespace kernelift::reintegrate
