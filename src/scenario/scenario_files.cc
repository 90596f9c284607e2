#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "scenario/network_incident.h"
#include "scenario/scenario.h"

namespace wf::scenario {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error Failed(const std::string& path, int code) {
  return EnvironmentError(path + ": " + std::strerror(code),
                          "is the folder writable, and is there room?");
}

Status WriteAll(std::FILE* file, const std::string& path, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) return Failed(path, errno);
  return {};
}

// Closes `file` and gives it its name.
Status Finish(File file, const std::string& part, const std::string& path) {
  if (std::fclose(file.release()) != 0) return Failed(part, errno);
  if (std::rename(part.c_str(), path.c_str()) != 0) return Failed(path, errno);
  return {};
}

}  // namespace

Result<ScenarioFiles> WriteScenario(const ScenarioOptions& options, const std::string& folder) {
  ScenarioFiles files;
  files.events = folder + "/events.jsonl";
  files.query = folder + "/query.json";
  const std::string part = files.events + ".part";
  File file;
  // Opened at the first line, so that a scenario that does not exist leaves nothing behind.
  const auto open = [&]() -> Status {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) return Failed(folder, code.value());
    file.reset(std::fopen(part.c_str(), "wb"));
    if (file == nullptr) return Failed(part, errno);
    return {};
  };
  const bool incident = IsNetworkIncident(options.name);
  const Result<std::string> query =
      GenerateScenario(options, [&](std::string_view lines) -> Status {
        if (file == nullptr) WF_TRY(open());
        if (!incident) ++files.traces;
        files.event_lines += std::count(lines.begin(), lines.end(), '\n');
        return WriteAll(file.get(), part, lines);
      });
  if (!query.ok()) {
    if (file != nullptr) std::remove(part.c_str());
    return query.error();
  }
  WF_TRY(Finish(std::move(file), part, files.events));
  const auto write_whole = [&](const std::string& path, std::string_view text) -> Status {
    const std::string unfinished = path + ".part";
    File whole(std::fopen(unfinished.c_str(), "wb"));
    if (whole == nullptr) return Failed(unfinished, errno);
    WF_TRY(WriteAll(whole.get(), unfinished, text));
    return Finish(std::move(whole), unfinished, path);
  };
  if (incident) {
    files.recording = folder + "/recording.jsonl";
    WF_ASSIGN(const NetworkIncident plan, PlanNetworkIncident(options));
    WF_ASSIGN(const ndlog::Recording recording, RecordIncident(plan, options.seed));
    WF_TRY(write_whole(files.recording, ndlog::WriteRecording(recording)));
  }
  WF_TRY(write_whole(files.query, *query));
  return files;
}

}  // namespace wf::scenario
