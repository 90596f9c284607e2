#include "server/server_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::server {
namespace {

std::string PathOf(const std::string& store) { return store + "/server.json"; }

}  // namespace

Status WriteServerFile(const std::string& store, const ServerFile& file) {
  JsonWriter json;
  json.BeginObject().Field("pid", file.pid).Field("token", file.token);
  if (!file.tls_cert.empty()) json.Field("tls_cert", file.tls_cert);
  for (const auto& [name, address] : file.listeners) json.Field(name, address);
  json.EndObject();
  const std::string text = json.Take() + "\n";

  // Written beside and renamed, so that a reader sees all of it or nothing; made with its mode, so that the token is
  // never readable by others.
  const std::string path = PathOf(store), temporary = path + ".new";
  ::unlink(temporary.c_str());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return EnvironmentError(temporary + ": " + std::strerror(errno),
                            "is the store's directory writable?");
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(fd);
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    return EnvironmentError(path + ": " + std::strerror(written ? errno : error),
                            "is the disk full?");
  }
  return {};
}

void RemoveServerFile(const std::string& store) { ::unlink(PathOf(store).c_str()); }

Result<ServerFile> ReadServerFile(const std::string& store) {
  std::ifstream in(PathOf(store));
  if (!in) return NotFound("no server runs on " + store);
  std::stringstream text;
  text << in.rdbuf();
  ServerFile file;
  JsonParser parser;
  const std::string content = text.str();
  auto json = parser.Parse(content);
  if (!json.ok()) {
    return EnvironmentError(PathOf(store) + ": " + json.error().message,
                            "remove the file if no server runs");
  }
  for (const auto& [name, value] : json->Members()) {
    if (name == "pid") {
      file.pid = value.Int().value_or(0);
    } else if (name == "token") {
      file.token = value.String();
    } else if (name == "tls_cert") {
      file.tls_cert = value.String();
    } else if (value.IsString()) {
      file.listeners.emplace_back(name, value.String());
    }
  }
  // The file may be left over from a server that was killed. Whoever writes a store holds its lock, so a lock that can
  // be had means that nobody does; the process number alone may belong to another program by now.
  const int lock = ::open((store + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  const bool free = lock < 0 || ::flock(lock, LOCK_SH | LOCK_NB) == 0;
  if (lock >= 0) ::close(lock);
  if (free) return NotFound("the server of " + store + " is gone");
  return file;
}

}  // namespace wf::server
