// clang and its driver reach files only through LLVM's virtual file system, so a proxy in front of the real one sees
// every query.
#include "extractor/source/file_answers.h"

#include <algorithm>
#include <set>

#include "core/base/hash.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace kernelift::extractor {
namespace {

namespace vfs = llvm::vfs;

std::string kind_of(const llvm::ErrorOr<vfs::Status>& status) {
  return !status ? "nothing" : status->isDirectory() ? "folder" : "file";
}

std::string kind_at(vfs::FileSystem& files, const std::string& path) { return kind_of(files.status(path)); }

std::string names_in(vfs::FileSystem& files, const std::string& path) {
  std::set<std::string> names;
  std::error_code end;
  for (auto at = files.dir_begin(path, end); !end && at != vfs::directory_iterator(); at.increment(end))
    names.insert(at->path().str());
  Hasher hasher;
  for (auto& name : names) hasher.add(name);
  return hasher.finish().hex();
}

/// The real path is part of the answer: two spellings of one file share it, and a link may later point elsewhere.
std::string content_of(vfs::File& file, llvm::StringRef text) {
  auto real_path = file.getName();
  return hash_text(text).hex() + " " + (real_path ? *real_path : "");
}

std::string content_at(vfs::FileSystem& files, const std::string& path) {
  auto file = files.openFileForRead(path);
  if (!file) return "";
  auto text = (*file)->getBuffer(path);
  return text ? content_of(**file, (*text)->getBuffer()) : "";
}

void note(FileAnswers& answers, Answers& of, const std::string& path, const std::string& answer) {
  auto [at, fresh] = of.try_emplace(path, answer);
  if (!fresh && at->second != answer) answers.settled = false;
}

/// Hashes the text at the moment it is read: the file on disk may be replaced right afterwards.
class NotedFile : public vfs::File {
 public:
  NotedFile(std::unique_ptr<vfs::File> file, std::string path, FileAnswers& answers)
      : file_(std::move(file)), path_(std::move(path)), answers_(answers) {}

  llvm::ErrorOr<vfs::Status> status() override { return file_->status(); }
  llvm::ErrorOr<std::string> getName() override { return file_->getName(); }
  std::error_code close() override { return file_->close(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t size,
                                                               bool null_terminated, bool is_volatile) override {
    auto text = file_->getBuffer(name, size, null_terminated, is_volatile);
    if (text) note(answers_, answers_.contents, path_, content_of(*file_, (*text)->getBuffer()));
    return text;
  }

 private:
  std::unique_ptr<vfs::File> file_;
  std::string path_;
  FileAnswers& answers_;
};

class NotingFileSystem : public vfs::ProxyFileSystem {
 public:
  NotingFileSystem(llvm::IntrusiveRefCntPtr<vfs::FileSystem> files, FileAnswers& answers)
      : ProxyFileSystem(std::move(files)), answers_(answers) {}

  llvm::ErrorOr<vfs::Status> status(const llvm::Twine& path) override {
    auto answer = getUnderlyingFS().status(path);
    note(answers_, answers_.kinds, absolute(path), kind_of(answer));
    return answer;
  }
  bool exists(const llvm::Twine& path) override { return bool(status(path)); }
  llvm::ErrorOr<std::unique_ptr<vfs::File>> openFileForRead(const llvm::Twine& path) override {
    auto file = getUnderlyingFS().openFileForRead(path);
    note(answers_, answers_.kinds, absolute(path), file ? kind_of((*file)->status()) : "nothing");
    if (!file) return file;
    return std::make_unique<NotedFile>(std::move(*file), absolute(path), answers_);
  }
  vfs::directory_iterator dir_begin(const llvm::Twine& path, std::error_code& error) override {
    std::string folder = absolute(path);
    note(answers_, answers_.folders, folder, names_in(getUnderlyingFS(), folder));
    return getUnderlyingFS().dir_begin(path, error);
  }

 private:
  std::string absolute(const llvm::Twine& path) const {
    llvm::SmallString<256> text;
    path.toVector(text);
    makeAbsolute(text);
    return text.str().str();
  }
  FileAnswers& answers_;
};

}  // namespace

llvm::IntrusiveRefCntPtr<vfs::FileSystem> FileAnswers::noting(llvm::IntrusiveRefCntPtr<vfs::FileSystem> files) {
  return llvm::makeIntrusiveRefCnt<NotingFileSystem>(std::move(files), *this);
}

void FileAnswers::add(const FileAnswers& others) {
  settled &= others.settled;
  for (auto& [of, more] :
       {std::pair(&kinds, &others.kinds), {&folders, &others.folders}, {&contents, &others.contents}})
    for (auto& [path, answer] : *more) note(*this, *of, path, answer);
}

Json to_json(const FileAnswers& answers) {
  return {{"kinds", answers.kinds}, {"folders", answers.folders}, {"contents", answers.contents}};
}

FileAnswers file_answers_from_json(const Json& from) {
  return {from.at("kinds").get<Answers>(), from.at("folders").get<Answers>(), from.at("contents").get<Answers>()};
}

FileInquiry::FileInquiry() : files_(vfs::createPhysicalFileSystem()) {}
FileInquiry::~FileInquiry() = default;

bool FileInquiry::confirms(const FileAnswers& answers) {
  auto same = [&](const Answers& then, Answers& now, auto& ask) {
    return std::all_of(then.begin(), then.end(), [&](auto& told) {
      auto [at, fresh] = now.try_emplace(told.first);
      if (fresh) at->second = ask(*files_, told.first);
      return at->second == told.second;
    });
  };
  return answers.settled && same(answers.kinds, known_.kinds, kind_at) &&
         same(answers.folders, known_.folders, names_in) && same(answers.contents, known_.contents, content_at);
}

}  // namespace kernelift::extractor
