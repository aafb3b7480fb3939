// Things of the user's that a candidate might reach if it got out of its jail, planted by the suite and looked at after
// every candidate: files, a process, a listener on the loopback interface, and the value of a key.
#pragma once
#include <sched.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sandbox/jail/channel.h"

namespace kernelift::cli {

class Canaries {
 public:
  /// In a folder of their own. EXPECTS: this process has one thread.
  static Result<std::unique_ptr<Canaries>> plant(const std::filesystem::path& folder);
  Canaries(const Canaries&) = delete;
  ~Canaries();

  /// What candidates' texts can name: FILE (must not come into being), SECRET (a file with the key), PID, PORT, MARK (a
  /// word that must not reach the terminal), KEY is not among them.
  const std::map<std::string, std::string>& places() const { return places_; }
  const std::string& key() const { return key_; }
  const std::string& mark() const { return mark_; }
  /// Folders in which nothing may change: the judging process's home and working folder.
  std::filesystem::path home() const { return folder_ / "home"; }
  std::filesystem::path work() const { return folder_ / "work"; }

  /// What has happened to them since the last call, a clause each. Puts right what it can.
  std::vector<std::string> disturbed();
  /// Whether the text holds the key, or a good part of it.
  bool holds_key(std::string_view text) const;

 private:
  explicit Canaries(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Status start_process();
  /// Name to size, permissions and time of change of all that lies in the folder.
  std::map<std::string, std::string> listing() const;

  std::filesystem::path folder_;
  std::string key_, mark_;
  std::map<std::string, std::string> places_;
  std::map<std::string, std::string> planted_;  ///< The listing as it must stay.
  sandbox::Descriptor listener_, signals_;      ///< The process writes the number of every signal that it gets.
  pid_t process_ = -1, owner_ = -1;
  cpu_set_t cores_{}, own_cores_{};
};

}  // namespace kernelift::cli
