// A file that appears when it is whole: written as PATH.part, renamed at the end. One that is given up leaves nothing.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::cli {

class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status Open();
  Status Write(std::string_view text);
  Status Finish();

 private:
  static Error Failed(const std::string& path);
  std::string path_, part_;
  std::FILE* file_ = nullptr;
};

}  // namespace wf::cli
