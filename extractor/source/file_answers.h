// What a parse asked the file system and what it was told. The same command, asked of a file system that still gives
// all the same answers, finds the same: that is how a scan knows the units that it need not parse again. "No such file"
// is an answer too, so that a header which now comes earlier on the include path is noticed; contents are compared by
// hash, so that a file that was merely touched, or checked out again, is not.
#pragma once
#include <map>
#include <string>

#include "core/base/json.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace llvm::vfs {
class FileSystem;
}

namespace kernelift {

/// By absolute path.
using Answers = std::map<std::string, std::string>;

struct FileAnswers {
  Answers kinds;        ///< File, folder or nothing.
  Answers folders;      ///< The names in a folder that was listed.
  Answers contents;     ///< Of each file that was read, and its real path.
  bool settled = true;  ///< False: one question was answered in two ways, as somebody was changing the files.

  /// `files`, each of whose answers is noted here as long as it is used. EXPECTS: outlives what it returns.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> noting(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
  void add(const FileAnswers& others);
};

Json to_json(const FileAnswers&);
/// EXPECTS: called inside reading() (core/base/json.h).
FileAnswers file_answers_from_json(const Json&);

/// Asks the questions of many parses again, each only once: units share most of their headers.
class FileInquiry {
 public:
  FileInquiry();
  ~FileInquiry();
  bool confirms(const FileAnswers&);

 private:
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_;
  FileAnswers known_;
};

}  // namespace kernelift
