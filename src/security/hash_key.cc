#include "security/hash_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/ids.h"

namespace wf::security {

Result<decode::HashKey> LoadHashKey(const std::string& store) {
  const std::string path = store + "/hash.key";
  decode::HashKey key;
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

namespace {

constexpr char kKind[] = "hash_key";  // of saved texts
constexpr char kTenant[] = "default";

// Of those that were made at the same time by processes that did not see each other, the first by name.
Result<std::optional<decode::HashKey>> ReadSharedKey(store::DocumentStore& store) {
  WF_ASSIGN(const auto documents, store.ReadDocuments(kTenant, kKind));
  if (documents.empty()) return std::optional<decode::HashKey>();
  const std::string& text = documents.front().text;  // 32 hex digits, as a trace id's
  const auto key = ParseTraceId(text);
  if (text.size() != 32 || !key.ok())
    return EnvironmentError("the store's hash key is damaged",
                            "delete the saved text of kind hash_key; what is hashed from then on "
                            "no longer matches earlier values");
  return std::optional<decode::HashKey>(decode::HashKey{key->hi, key->lo});
}

}  // namespace

Result<decode::HashKey> SharedHashKey(store::DocumentStore& store) {
  WF_ASSIGN(const std::optional<decode::HashKey> there, ReadSharedKey(store));
  if (there) return *there;
  uint64_t random[3];
  if (::getrandom(random, sizeof random, 0) != sizeof random)
    return EnvironmentError("getrandom: " + std::string(std::strerror(errno)));
  WF_TRY(store.PutDocument(kTenant, kKind, ToHex64(random[2]),
                           ToHex64(random[0]) + ToHex64(random[1])));
  // Whoever starts the cluster at the same moment has put one, too: everybody waits until all of them can be seen, and
  // takes the same. Only ever once in a store's life.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  WF_ASSIGN(const std::optional<decode::HashKey> made, ReadSharedKey(store));
  if (!made) return EnvironmentError("the store did not save the hash key", "try again");
  return *made;
}

}  // namespace wf::security
