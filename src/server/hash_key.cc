#include "server/hash_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wf {

Result<HashKey> LoadHashKey(const std::string& store) {
  const std::string path = store + "/hash.key";
  HashKey key;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t n = ::read(fd, &key, sizeof key);
    ::close(fd);
    if (n == sizeof key) return key;
    return EnvironmentError(
        path + ": damaged, " + std::to_string(n) + " bytes instead of 16",
        "restore it from a copy; without it hashed attributes no longer match earlier ones");
  }
  if (errno != ENOENT)
    return EnvironmentError(path + ": " + std::strerror(errno), "check its permissions");
  if (::getrandom(&key, sizeof key, 0) != sizeof key)
    return EnvironmentError("getrandom: " + std::string(std::strerror(errno)));
  fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && ::write(fd, &key, sizeof key) == sizeof key && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written && fd >= 0) ::unlink(path.c_str());  // half a key would be taken for a damaged one
  if (!written)
    return EnvironmentError(path + ": " + std::strerror(error),
                            "is the store's directory writable?");
  return key;
}

}  // namespace wf
