// The queries that a parse made to the file system, and their answers. As long as the file system still gives the same
// answers, the same command parses to the same result: that is how a scan knows the units that it need not parse again.
// "No such file" is an answer too, so that a new header earlier on the include path is noticed. Contents are compared
// by hash, so that a file that was merely touched, or checked out again, counts as unchanged.
#pragma once
#include <map>
#include <string>

#include "core/base/json.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace llvm::vfs {
class FileSystem;
}

namespace kernelift::extractor {

/// Answers by absolute path.
using Answers = std::map<std::string, std::string>;

struct FileAnswers {
  Answers kinds;        ///< "file", "folder" or "nothing".
  Answers folders;      ///< Hash of the names in each folder that was listed.
  Answers contents;     ///< Hash of each file that was read, and its real path.
  bool settled = true;  ///< False if one query got two different answers: the files were changed during the parse.

  /// Wraps `files` so that each of its answers is noted here. EXPECTS: this object outlives the returned file system.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> noting(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
  void add(const FileAnswers& others);
};

Json to_json(const FileAnswers&);
/// EXPECTS: called inside reading() (core/base/json.h).
FileAnswers file_answers_from_json(const Json&);

/// Repeats the queries of many parses, each query only once: units share most of their headers.
class FileInquiry {
 public:
  FileInquiry();
  ~FileInquiry();
  /// True if the file system still gives all these answers.
  bool confirms(const FileAnswers&);

 private:
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_;
  FileAnswers known_;
};

}  // namespace kernelift::extractor
