#include "cli/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/decoding_reader.h"

namespace wf::cli {
namespace {

Error CannotRead(const std::string& path, int code, const std::string& hint) {
  const std::string why = path + ": " + std::strerror(code);
  const bool misnamed = code == ENOENT || code == ENOTDIR || code == EISDIR;
  if (misnamed) return BadInput(why, hint);
  return EnvironmentError(why, "check its permissions");
}

// Until the end; `read` as ::read does it, but with its errors named.
template <typename Read>
Result<std::string> ReadAll(const Read& read) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  while (true) {
    const size_t had = text.size();
    text.resize(had + kPiece);
    WF_ASSIGN(const size_t got, read(text.data() + had, kPiece));
    text.resize(had + got);
    if (got == 0) return text;
  }
}

}  // namespace

Result<std::string> ReadInputFile(const std::string& path, const std::string& hint,
                                  InputCoding coding) {
  const int fd = path == "-" ? ::dup(0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(path, errno, hint);
  const auto raw = [&](char* buffer, size_t size) -> Result<size_t> {
    ssize_t got = 0;
    do {
      got = ::read(fd, buffer, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return CannotRead(path, errno, hint);
    return static_cast<size_t>(got);
  };
  net::DecodingReader reader(raw);
  Result<std::string> text =
      coding == InputCoding::kPlain
          ? ReadAll(raw)
          : ReadAll([&](char* buffer, size_t size) { return reader.Read(buffer, size); });
  ::close(fd);
  return text;
}

}  // namespace wf::cli
