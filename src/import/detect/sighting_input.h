// The INPUT… of `messages`, `paths` and `import` → sightings of all of them in one order of time.
//
// An input is a file, a folder (all files below it, by name) or `-` (standard input, read as it comes). Its kind is
// found by its content: message text, plain or compressed (gzip, zstd); captures (pcap, pcapng); mail (mbox).
//
//   file → reader of its kind → renames, skew → sorted within the reorder window ┐
//   file → …                                                                     ┴→ merge → doubles → numbers → drops
//
// Order is by time, then by place. A line that comes later than the window allows is passed on where it stands, and
// counted. Place: a line of a text file has its own number; a sighting of anything else (capture, mailbox, folder) the
// number of its line in what `wherefore messages` prints of that input alone. The same sighting from two files
// (docs/reference/messages.md, "Duplicates") is given once.
//
// Memory is bounded by what stands in the windows. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/sighting.h"
#include "model/string_table.h"

namespace wf::detect {

// A sniffer that can take `per_second` messages and has room for `queue` of them waiting (Aguilera et al. §7).
struct DropModel {
  double per_second = 0;
  uint64_t queue = 0;
};

// Inference needs no texts: 100 million lines stand in less memory without them.
enum class SightingTexts { kKeep, kDrop };

struct SightingOptions {
  bool lenient = false;  // malformed lines are counted and skipped; else they are an error
  Nanos reorder = 10 * kSecond;
  std::string rename_file;  // lines `old new`; empty: none
  std::string nodes_file;   // of captures: lines `address[:port] name`; empty: addresses
  bool dns_names = false;   // of captures: addresses without a name get that of DNS answers in them
  // Added to what a node sighted by its own clock. Lines without _SENT or _RCVD are by a common clock, which is no
  // node's: they are not moved. Names are those after renaming.
  std::map<std::string, Nanos> skew;
  std::optional<DropModel> drop;
  SightingTexts texts = SightingTexts::kDrop;
};

struct SightingCounts {
  uint64_t files = 0, text_files = 0, captures = 0, mailboxes = 0;
  uint64_t lines = 0;       // of text, comments and empty ones included
  uint64_t sightings = 0;   // given by Next
  uint64_t malformed = 0;   // lines or headers that could not be read
  uint64_t late = 0;        // beyond the reorder window
  uint64_t duplicates = 0;  // the same sighting from another file
  uint64_t dropped = 0;     // by the drop model
};

class SightingInput : public SightingSource {
 public:
  // `nodes` must outlive it, and takes up the names of nodes as they are met.
  static Result<std::unique_ptr<SightingInput>> Open(const std::vector<std::string>& inputs,
                                                     const SightingOptions& options,
                                                     StringTable& nodes);
  ~SightingInput() override;

  // In order of time; `id` and `keys` of the line are filled with SightingTexts::kKeep only.
  Result<bool> Next(SightingLine& line) override;

  const SightingCounts& counts() const;
  // For people: what was skipped, why and where first; what a capture could not show. One line each.
  std::vector<std::string> Notes() const;
  size_t inputs() const;         // with one, places print as N, else as K:N
  uint64_t bytes_read() const;   // of the files as they lie on disk, for progress
  uint64_t bytes_total() const;  // 0: not known (standard input)

 private:
  struct Impl;
  explicit SightingInput(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "1000:64" → rate and queue.
Result<DropModel> ParseDropModel(const std::string& text);

}  // namespace wf::detect
