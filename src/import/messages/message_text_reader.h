// Message text, piece by piece → sightings in the order of their lines.
//
// No memory is allocated per line: words are read in place in the buffer, ids become keys (KeyOf). Thread
// safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/sighting.h"
#include "net/decoding_reader.h"

namespace wf::messages {

enum class OnMalformed { kFail, kSkip };
enum class LineTexts { kKeep, kDrop };  // SightingLine's id and keys

struct MessageTextOptions {
  OnMalformed on_malformed = OnMalformed::kFail;
  LineTexts texts = LineTexts::kKeep;
  uint32_t input = 1;  // of the places
};

class MessageTextReader : public SightingSource {
 public:
  // `name` is for errors: "NAME:LINE: reason". `nodes` must outlive the reader.
  MessageTextReader(net::ChunkSource source, std::string name, const MessageTextOptions& options,
                    StringTable& nodes);

  Result<bool> Next(SightingLine& line) override;

  uint64_t lines() const { return lines_; }  // all lines read, including comments and empty ones
  uint64_t malformed() const { return malformed_; }
  const std::string& first_fault() const { return first_fault_; }  // "NAME:LINE: reason"

 private:
  Result<bool> NextLine(std::string_view& line);
  Status Fill();
  NodeId NodeOf(std::string_view name);

  net::ChunkSource source_;
  std::string name_;
  MessageTextOptions options_;
  StringTable& nodes_;
  std::string fault_, first_fault_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // read but not yet returned
  bool ended_ = false, overlong_ = false;
  uint64_t lines_ = 0, malformed_ = 0;
  std::array<NodeId, 256> recent_{};  // names are few, and comparing is faster than hashing
};

}  // namespace wf::messages
