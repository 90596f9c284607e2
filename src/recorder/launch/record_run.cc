#include "recorder/launch/record_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/format/flow_policy.h"
#include "recorder/format/records.h"
#include "recorder/launch/control_source.h"
#include "recorder/launch/embedded_library.h"
#include "recorder/launch/program_check.h"

namespace wf::recorder {
namespace {

RecordRun Refusal(int status, std::string why) { return {status, {}, {std::move(why)}}; }

std::string Absolute(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  char folder[4096];
  if (::getcwd(folder, sizeof(folder)) == nullptr) return path;
  return std::string(folder) + "/" + path;
}

// The head of a recording, if the file is one.
bool ReadHead(const std::string& path, SharedHead& head) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool whole = ::pread(fd, &head, sizeof(head), 0) == sizeof(head);
  ::close(fd);
  return whole && std::memcmp(head.head.magic, kMagic, sizeof(kMagic)) == 0;
}

// Children of an earlier recording of this name would be mistaken for children of this one.
void RemoveChildren(const std::string& file) {
  SharedHead head;
  for (int number = 1;; ++number) {
    const std::string child = file + "." + std::to_string(number);
    if (!ReadHead(child, head)) return;
    ::unlink(child.c_str());
  }
}

// Creates an empty file to record into. Returns the error if that fails.
std::string PrepareFile(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return file + ": " + std::strerror(errno);
  std::string why;
  struct stat facts;
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    why = file + ": not a regular file";
  } else if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    why = file + ": another recording is being written to it";
  } else if (facts.st_size != 0) {
    SharedHead head;
    if (!ReadHead(file, head)) {
      why = file + ": already exists and is not a recording; remove it or choose another name";
    } else if (::ftruncate(fd, 0) != 0) {
      why = file + ": " + std::strerror(errno);
    }
  }
  ::close(fd);
  if (why.empty()) RemoveChildren(file);
  return why;
}

// The library, and what the program is to preload anyway.
std::string PreloadList(const std::string& library) {
  const char* theirs = std::getenv("LD_PRELOAD");
  return theirs != nullptr && theirs[0] != 0 ? library + ":" + theirs : library;
}

void SetEnvironment(const std::string& library, const std::string& file,
                    const RecordOptions& options) {
  ::setenv("LD_PRELOAD", PreloadList(library).c_str(), 1);
  ::setenv("WHEREFORE_RECORD", file.c_str(), 1);
  ::setenv("WHEREFORE_RECORD_ROOT", std::to_string(::getpid()).c_str(), 1);
  ::setenv("WHEREFORE_RECORD_DEPTH", std::to_string(options.depth).c_str(), 1);
  ::setenv("WHEREFORE_RECORD_TRACKER", options.tracker.c_str(), 1);
  const auto set_unless_none = [](const char* name, uint32_t value) {
    if (value == 0)
      ::unsetenv(name);
    else
      ::setenv(name, std::to_string(value).c_str(), 1);
  };
  set_unless_none("WHEREFORE_RECORD_SLOTS", options.slots);
  set_unless_none("WHEREFORE_RECORD_SNAPSHOT_MS", options.snapshot_every_ms);
  if (options.policy.empty()) {
    ::unsetenv(kPolicyVariable);
  } else {
    ::setenv(kPolicyVariable, options.policy.c_str(), 1);
    // A function that is looked up on its first call is written into a page that all threads use: the first
    // caller would pass its labels to all threads.
    ::setenv("LD_BIND_NOW", "1", 1);
  }
}

// What the new process reports if it cannot execute the program.
struct Failure {
  enum Stage : int { kFile, kExec } stage;
  int error;
  char why[1024];
};

// Returns only if it fails. The emulator itself must not preload the library, and does so if its environment says so.
void BecomeEmulated(const ControlChoice& control, const RecordOptions& options,
                    const std::string& program, const std::string& preload) {
  ::unsetenv("LD_PRELOAD");
  const std::vector<std::string> words =
      EmulatedCommand(control, program, options.command, preload,
                      (options.depth & kData) != 0 ? Tell::kPages : Tell::kBranches);
  std::vector<char*> arguments;
  for (const std::string& one : words) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  ::execv(control.emulator.c_str(), arguments.data());
}

[[noreturn]] void BecomeProgram(const RecordOptions& options, const std::string& program,
                                const std::string& library, const ControlChoice& control,
                                int report) {
  Failure failure = {};
  const std::string default_name =
      program.substr(program.rfind('/') + 1) + "." + std::to_string(::getpid()) + ".cpg";
  const std::string file = Absolute(options.file.empty() ? default_name : options.file);
  const std::string why = PrepareFile(file);
  if (why.empty()) {
    const std::string preload = PreloadList(library);
    SetEnvironment(library, file, options);
    if (!control.source.empty()) ::setenv("WHEREFORE_RECORD_CONTROL", control.source.c_str(), 1);
    if (!control.emulator.empty()) BecomeEmulated(control, options, program, preload);
    std::vector<char*> arguments;
    for (const std::string& one : options.command)
      arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    // A text without #! is for the shell, as execvp and every shell have it.
    if (errno == ENOEXEC) {
      arguments.insert(arguments.begin(), const_cast<char*>("/bin/sh"));
      arguments[1] = const_cast<char*>(program.c_str());
      ::execv("/bin/sh", arguments.data());
    }
    failure.stage = Failure::kExec;
    failure.error = errno;
    struct stat facts;
    if (::stat(file.c_str(), &facts) == 0 && facts.st_size == 0) ::unlink(file.c_str());
  } else {
    failure.stage = Failure::kFile;
    std::snprintf(failure.why, sizeof(failure.why), "%s", why.c_str());
  }
  (void)!::write(report, &failure, sizeof(failure));
  ::_exit(kRefused);
}

volatile sig_atomic_t g_child = 0;
void Forward(int signal) {
  if (g_child > 0) ::kill(g_child, signal);
}

// While the program runs: signals of the terminal reach it anyway; signals sent to us are passed on to it.
class SignalsForChild {
 public:
  SignalsForChild() {
    struct sigaction ignore = {}, forward = {};
    ignore.sa_handler = SIG_IGN;
    forward.sa_handler = Forward;
    forward.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &ignore, &before_[0]);
    ::sigaction(SIGQUIT, &ignore, &before_[1]);
    int n = 2;
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
      ::sigaction(signal, &forward, &before_[n++]);
  }
  void Restore() {
    int n = 0;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
      ::sigaction(signal, &before_[n++], nullptr);
  }

 private:
  struct sigaction before_[6];
};

// Waits until the scribe has released the file. Its lock shows this; a scribe that died has released it too.
bool WaitForScribe(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  bool done = false;
  for (int tries = 0; tries < 30000 && !done; ++tries) {
    done = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (!done) ::usleep(1000);
  }
  ::close(fd);
  return done;
}

// Children that have ended: their files are whole before we go. Those that live on are left to it.
void WaitForChildren(const std::string& file, uint32_t children) {
  for (uint32_t number = 1; number <= children; ++number) {
    const std::string child = file + "." + std::to_string(number);
    SharedHead head;
    if (ReadHead(child, head) && ::kill(static_cast<pid_t>(head.head.pid), 0) != 0)
      WaitForScribe(child);
  }
}

// Children that have ended count there, too: the head is read again.
void SayVerdicts(RecordRun& run) {
  SharedHead head;
  if (!ReadHead(run.file, head)) return;
  const auto say = [&](uint32_t count, const char* what) {
    if (count != 0)
      run.words.push_back("policy: " + std::to_string(count) +
                          (count == 1 ? " output was " : " outputs were ") + what +
                          "; `wherefore cpg " + run.file + " graph` lists them" +
                          (head.children != 0 ? ", and " + run.file + ".N those of children" : ""));
  };
  say(head.denied, "denied");
  say(head.reported, "reported");
}

void JudgeRecording(RecordRun& run, pid_t child) {
  if (!WaitForScribe(run.file)) {
    run.words.push_back(run.file + ": still being written, but already readable");
    return;
  }
  SharedHead head;
  if (!ReadHead(run.file, head) || head.head.pid != static_cast<uint32_t>(child)) {
    struct stat facts;
    if (::stat(run.file.c_str(), &facts) == 0 && facts.st_size == 0) ::unlink(run.file.c_str());
    run.words.push_back("nothing was recorded: the program ended before the recorder began");
    run.file.clear();
    return;
  }
  if (head.trouble != 0)
    run.words.push_back(run.file + ": the recording is incomplete: " +
                        std::strerror(static_cast<int>(head.trouble)));
  WaitForChildren(run.file, head.children);
  SayVerdicts(run);
}

}  // namespace

RecordRun RunRecorded(const RecordOptions& options) {
  const std::string& name = options.command.front();
  const FoundProgram found = FindProgram(name);
  if (found.error == ENOENT) return Refusal(kNotFound, name + ": not found");
  if (found.error != 0) return Refusal(kNotExecutable, name + ": " + std::strerror(found.error));
  const std::string why = WhyNotRecordable(found.path);
  if (!why.empty()) return Refusal(kRefused, name + " cannot be recorded: " + why);
  const Result<std::string> library = LibraryOnDisk();
  if (!library.ok())
    return Refusal(kRefused, library.error().message + "; " + library.error().hint);
  if (options.slots != 0 && (options.depth & kControl) != 0)
    return Refusal(
        kRefused, "branches cannot be recorded into slots: leave out --slots and --snapshot-every");
  ControlChoice control;
  if ((options.depth & kControl) != 0) {
    Result<ControlChoice> chosen = ChooseControl(found.path, options.control_source);
    if (!chosen.ok()) return Refusal(kRefused, chosen.error().message + "; " + chosen.error().hint);
    control = std::move(chosen).value();
    if (!control.emulator.empty() && PreloadList(library.value()).find(',') != std::string::npos)
      return Refusal(kRefused,
                     "LD_PRELOAD has a comma, which the emulator takes for an end; unset it");
    if (!control.emulator.empty() && !options.policy.empty())
      return Refusal(kRefused,
                     "a policy cannot be kept in an emulator; leave --control out, or choose "
                     "another --control-source");
    options.say(control.reason);
  }

  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return Refusal(kRefused, std::strerror(errno));
  SignalsForChild signals;
  const pid_t child = ::fork();
  if (child < 0)
    return Refusal(kRefused, std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    signals.Restore();
    ::close(report[0]);
    BecomeProgram(options, found.path, library.value(), control, report[1]);
  }
  g_child = child;
  ::close(report[1]);
  Failure failure = {};
  ssize_t told;
  while ((told = ::read(report[0], &failure, sizeof(failure))) < 0 && errno == EINTR) {
  }
  ::close(report[0]);

  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (told == sizeof(failure)) {
    if (failure.stage == Failure::kFile) return Refusal(kRefused, failure.why);
    return Refusal(failure.error == ENOENT ? kNotFound : kNotExecutable,
                   name + ": " + std::strerror(failure.error));
  }
  RecordRun run;
  run.exit_status = WIFSIGNALED(status) ? kKilledBy + WTERMSIG(status) : WEXITSTATUS(status);
  run.file = Absolute(options.file.empty() ? found.path.substr(found.path.rfind('/') + 1) + "." +
                                                 std::to_string(child) + ".cpg"
                                           : options.file);
  JudgeRecording(run, child);
  return run;
}

}  // namespace wf::recorder
