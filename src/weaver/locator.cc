// Definition → locations → loaded files → functions or lines → sites. Findings of each step go into the
// notes; if nothing is left to probe, they become the error.
#include "weaver/locator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "weaver/function_search.h"
#include "weaver/needed_libraries.h"
#include "weaver/process_maps.h"
#include "weaver/site_builder.h"
#include "weaver/source_lines.h"
#include "weaver/unwinder_sites.h"

namespace wf::weaver {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "datanode", "/usr/bin/datanode", "data*", "libc.so.6", "libc": a name without '/' is the last part of the path.
bool FileMatches(std::string_view pattern, std::string_view path) {
  if (pattern.find('/') != std::string_view::npos) return GlobMatches(pattern, path);
  return GlobMatches(pattern, BaseName(path));
}
bool LibraryMatches(std::string_view pattern, std::string_view path) {
  if (FileMatches(pattern, path)) return true;
  return pattern.find('/') == std::string_view::npos &&
         GlobMatches(std::string(pattern) + ".so*", BaseName(path));
}

class Locating {
 public:
  Locating(const TracepointDefinition& definition, const LocateTarget& target, OpenImages& images)
      : definition_(definition), target_(target), images_(images) {
    out_.name = definition.name;
    for (const Export& one : definition.exports) out_.exports.push_back(one.name);
  }

  Result<LocatedTracepoint> Run() {
    WF_TRY(ListObjects());
    for (size_t i = 0; i < definition_.locations.size(); ++i) WF_TRY(LocateOne(i));
    if (out_.functions.empty()) return NothingFound();
    WF_TRY(CheckExports());
    WF_TRY(AddUnwinders());
    return std::move(out_);
  }

 private:
  Status ListObjects() {
    if (target_.pid != 0) {
      WF_ASSIGN(LoadedObjects loaded, FindLoadedObjects(target_.pid));
      objects_ = std::move(loaded.objects);
      out_.notes = std::move(loaded.notes);
      debug_root_ = fmt::format("/proc/{}/root", target_.pid);
      who_ = fmt::format("process {}", target_.pid);
    } else {
      WF_ASSIGN(objects_, FindNeededLibraries(target_.exe));
      who_ = target_.exe;
    }
    return {};
  }

  const std::string& Executable() const {
    static const std::string kNone;
    return objects_.empty() || !objects_[0].executable ? kNone : objects_[0].seen_as;
  }

  Result<const elf::ElfImage*> Open(const LoadedObject& object) {
    return images_.Open(object.file, debug_root_);
  }

  Status LocateOne(size_t index) {
    const Location& location = definition_.locations[index];
    const std::string place = fmt::format("locations[{}]", index);
    if (!location.exe.empty() && !FileMatches(location.exe, Executable())) {
      reasons_.push_back(fmt::format("{}: {} is not {}", place, who_, location.exe));
      return {};
    }
    bool any = false;
    for (const LoadedObject& object : objects_) {
      const bool fits =
          location.library.empty()
              ? object.executable
              : !object.executable && LibraryMatches(location.library, object.seen_as);
      if (!fits) continue;
      any = true;
      WF_TRY(LocateIn(index, object, place));
    }
    if (!any)
      reasons_.push_back(fmt::format("{}: {} has not loaded {}", place, who_, location.library));
    return {};
  }

  Status LocateIn(size_t index, const LoadedObject& object, const std::string& place) {
    auto image = Open(object);
    if (!image.ok()) {
      reasons_.push_back(fmt::format("{}: {}", place, image.error().message));
      return {};
    }
    const Location& location = definition_.locations[index];
    std::vector<Result<LocatedFunction>> built;
    if (location.function.empty()) {
      const auto addresses = FindLine(**image, location.file, location.line);
      if (!addresses.ok()) return Skip(place, addresses.error());
      for (const uint64_t address : *addresses)
        built.push_back(BuildLine(**image, address, definition_.exports));
      if (addresses->size() > 1)
        out_.notes.push_back(fmt::format("{}: {}:{} has code in {} places", place, location.file,
                                         location.line, addresses->size()));
    } else {
      const auto found = FindFunctions(**image, location);
      if (!found.ok()) return Skip(place, found.error());
      for (const std::string& note : found->notes) out_.notes.push_back(place + ": " + note);
      for (const FoundFunction& one : found->functions)
        built.push_back(BuildFunction(**image, one, location.at, definition_.exports));
    }
    for (auto& one : built) {
      if (!one.ok()) {
        // One of many overloads may lack the argument; all of them may not.
        if (!first_error_) first_error_ = one.error();
        reasons_.push_back(place + ": " + one.error().message);
        continue;
      }
      one->file = object.file;
      one->seen_as = object.seen_as;
      one->location = static_cast<uint32_t>(index);
      out_.functions.push_back(std::move(one).value());
    }
    return {};
  }

  // Not here, but perhaps at another location; a faulty definition is an error everywhere.
  Status Skip(const std::string& place, const Error& error) {
    if (error.code == ErrorCode::kBadInput)
      return BadInput(
          fmt::format("tracepoint '{}': {}: {}", definition_.name, place, error.message),
          error.hint);
    reasons_.push_back(place + ": " + error.message);
    if (hint_.empty()) hint_ = error.hint;
    return {};
  }

  Error NothingFound() const {
    if (first_error_) {
      return BadInput(fmt::format("tracepoint '{}': {}", definition_.name, first_error_->message),
                      first_error_->hint);
    }
    return NotFound(fmt::format("tracepoint '{}': nowhere in {}: {}", definition_.name, who_,
                                fmt::join(reasons_, "; ")),
                    hint_);
  }

  // An export that is null everywhere would only give empty answers.
  Status CheckExports() {
    for (const std::string& reason : reasons_) out_.notes.push_back(reason);
    for (size_t i = 0; i < definition_.exports.size(); ++i) {
      std::string why;
      bool somewhere = false;
      for (const LocatedFunction& function : out_.functions) {
        for (const ProbeSite& site : function.sites) {
          const ValueRead& value = site.values[i];
          // kAtEntry only repeats what the entry could read.
          somewhere |= value.form != ValueForm::kUnknown && value.form != ValueForm::kAtEntry;
          // What the tracepoint itself meets says more than its partner at the entry.
          if (value.form == ValueForm::kUnknown && (why.empty() || site.happens)) why = value.note;
        }
      }
      if (somewhere) continue;
      return BadInput(
          fmt::format("tracepoint '{}': export {} ('{}') can be read nowhere: {}", definition_.name,
                      definition_.exports[i].name, definition_.exports[i].text, why),
          "leave it out, or export something else");
    }
    return {};
  }

  Status AddUnwinders() {
    const bool wanted = std::any_of(out_.functions.begin(), out_.functions.end(),
                                    [&](const LocatedFunction& function) {
                                      const At at = definition_.locations[function.location].at;
                                      return at == At::kThrow || at == At::kLeave;
                                    });
    if (!wanted) return {};
    // Where they usually are, and in what holds the functions: it may bring its own. If there is none, in whatever else
    // is loaded.
    for (const bool usual : {true, false}) {
      for (const LoadedObject& object : objects_) {
        const bool holds_function =
            std::any_of(out_.functions.begin(), out_.functions.end(),
                        [&](const LocatedFunction& f) { return f.file == object.file; });
        const bool likely = object.executable || holds_function || MayHoldUnwinder(object.seen_as);
        if (likely == usual) AddUnwinder(object);
      }
      if (!out_.unwinders.empty()) break;
    }
    if (out_.unwinders.empty()) {
      const std::string note = "no unwinder was found, so ends by exception are not seen";
      const bool only_throws =
          std::all_of(out_.functions.begin(), out_.functions.end(), [&](const LocatedFunction& f) {
            return definition_.locations[f.location].at == At::kThrow;
          });
      if (only_throws)
        return NotFound(fmt::format("tracepoint '{}': {}: {}", definition_.name, who_, note));
      out_.notes.push_back(note);
    }
    return {};
  }

  void AddUnwinder(const LoadedObject& object) {
    const auto image = Open(object);
    if (!image.ok()) return;
    LocatedFunction unwinder;
    unwinder.file = object.file;
    unwinder.seen_as = object.seen_as;
    unwinder.build_id = (*image)->build_id();
    unwinder.name = "the unwinder";
    unwinder.activations = true;
    unwinder.sites = FindUnwinderSites(**image);
    for (ProbeSite& site : unwinder.sites) site.values = ValuesOfUnwinding(definition_.exports);
    if (!unwinder.sites.empty()) out_.unwinders.push_back(std::move(unwinder));
  }

  const TracepointDefinition& definition_;
  const LocateTarget& target_;
  OpenImages& images_;
  LocatedTracepoint out_;
  std::vector<LoadedObject> objects_;
  std::vector<std::string> reasons_;  // why a location gave nothing
  std::optional<Error> first_error_;
  std::string debug_root_, who_, hint_;
};

}  // namespace

Result<const elf::ElfImage*> OpenImages::Open(const std::string& file,
                                              const std::string& debug_root) {
  auto& image = images_[{file, debug_root}];
  if (!image) {
    WF_ASSIGN(image, elf::ElfImage::Open(file, debug_root));
  }
  return static_cast<const elf::ElfImage*>(image.get());
}

Result<LocatedTracepoint> Locate(const TracepointDefinition& definition, const LocateTarget& target,
                                 OpenImages& images) {
  return Locating(definition, target, images).Run();
}

Result<LocatedTracepoint> Locate(const TracepointDefinition& definition,
                                 const LocateTarget& target) {
  OpenImages images;
  return Locate(definition, target, images);
}

}  // namespace wf::weaver
