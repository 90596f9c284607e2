#include "server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "json/json_reader.h"

namespace wf {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

Result<ServerProcess> ServerProcess::Start(const std::string& binary, const std::string& store,
                                           const std::vector<std::string>& flags) {
  std::vector<std::string> words = {binary, "serve", "--store", store, "--log-level", "warn"};
  for (const char* listener : {"--http", "--otlp-grpc", "--otlp-http", "--zipkin", "--jaeger"}) {
    words.insert(words.end(), {listener, "0"});
  }
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const std::string file = store + "/server.json";
  ::unlink(file.c_str());
  ServerProcess server;
  server.pid_ = ::fork();
  if (server.pid_ < 0) return EnvironmentError(std::string("fork: ") + std::strerror(errno));
  if (server.pid_ == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  for (int i = 0; i < 1000 && ::access(file.c_str(), R_OK) != 0; ++i) {
    if (::waitpid(server.pid_, nullptr, WNOHANG) != 0) {
      server.pid_ = -1;
      return EnvironmentError(binary + " serve ended at once", "run it by hand to see why");
    }
    ::usleep(10'000);
  }
  const std::string text = ReadAll(file);
  JsonParser parser;
  WF_ASSIGN(const JsonValue json, parser.Parse(text));
  for (const auto& [name, value] : json.Members()) {
    if (name == "token") {
      server.token_ = value.String();
    } else if (value.IsString()) {
      server.addresses_[std::string(name)] = value.String();
    }
  }
  return server;
}

ServerProcess::ServerProcess(ServerProcess&& o) noexcept
    : pid_(std::exchange(o.pid_, -1)),
      token_(std::move(o.token_)),
      addresses_(std::move(o.addresses_)) {}

void ServerProcess::Stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

ServerProcess::~ServerProcess() { Stop(); }

Nanos ServerProcess::CpuTime() const {
  // Fields 14 and 15 of stat, counted behind the command's closing parenthesis.
  const std::string stat = ReadAll("/proc/" + std::to_string(pid_) + "/stat");
  std::istringstream in(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) in >> skipped;
  int64_t user = 0, system = 0;
  in >> user >> system;
  return (user + system) * (kSecond / ::sysconf(_SC_CLK_TCK));
}

int64_t ServerProcess::PeakMemory() const {
  std::istringstream in(ReadAll("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

int64_t DirectoryBytes(const std::string& path) {
  int64_t total = 0;
  std::error_code ec;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, ec)) {
    struct stat facts;
    if (entry.is_regular_file(ec) && ::stat(entry.path().c_str(), &facts) == 0)
      total += facts.st_blocks * 512;
  }
  return total;
}

}  // namespace wf
