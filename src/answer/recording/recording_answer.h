// The questions about a recording besides its graph, each as text for a person or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "answer/recording/opened_recording.h"

namespace wf::answer {

enum class RecordingFormat : uint8_t { kText, kJson, kCsv, kSvg };

// What of a lineage: one of the first four, with what belongs to it.
struct LineageQuestion {
  std::optional<std::string> of;       // OUTPUT[:a-b]
  std::optional<std::string> address;  // HEX or SYMBOL[+off]
  std::optional<std::string> from;     // INPUT[:a-b]
  bool crash = false;
  std::string at;  // of an address: at the end of this sub-computation; empty: of the run
  lineage::Steps steps = lineage::Steps::kAlsoUnordered;
};

Result<std::string> AnswerLineage(OpenedRecording& opened, const LineageQuestion& question,
                                  RecordingFormat format);
Result<std::string> AnswerOrder(OpenedRecording& opened, const std::string& a, const std::string& b,
                                RecordingFormat format);
Result<std::string> AnswerRaces(OpenedRecording& opened, RecordingFormat format);
Result<std::string> AnswerSummary(OpenedRecording& opened, RecordingFormat format);
Result<std::string> AnswerPages(OpenedRecording& opened, RecordingFormat format);
// `distances`: text of a file, if any; `name` is its name.
Result<std::string> AnswerLayout(OpenedRecording& opened, uint32_t nodes,
                                 const std::optional<std::string>& distances,
                                 const std::string& name, RecordingFormat format);
// The branches taken in a sub-computation, "3.14"; they may be more than memory can hold.
Status AnswerThunks(OpenedRecording& opened, const std::string& id, RecordingFormat format,
                    const PieceSink& sink);
Result<std::string> AnswerSnapshots(const std::string& file, RecordingFormat format);
// The recording up to its snapshot of this number. NotFound.
Result<recorder::Recording> RestrictedToSnapshot(OpenedRecording& opened, uint32_t number);

}  // namespace wf::answer
