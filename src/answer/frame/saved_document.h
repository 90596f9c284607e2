// Documents that several people edit: each has a revision, and a save that names an older one than there is changes
// nothing. Thread safety: all calls, from any thread of one process, which is what holds a store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/answer.h"

namespace wf::answer {

struct DocumentPlace {
  std::string kind, name;
};

// A text's revision: a hash of it. "": there is no document.
std::string RevisionOf(std::string_view text);

// Nothing when there is none.
Result<std::optional<store::Document>> FindDocument(const AnswerContext& context,
                                                    const DocumentPlace& place);

// What a save came to: the answer to it, or that somebody else's save came first.
struct SaveOutcome {
  Answer answer;
  enum class Kind { kSaved, kConflict } kind = Kind::kSaved;
};

// Replaces the document if its revision is `expected`; without one, whatever it is. False: it is another one.
Result<bool> PutIfUnchanged(const AnswerContext& context, const DocumentPlace& place,
                            std::string_view text, const std::optional<std::string>& expected);

// {"error":{"code":"conflict",…}} for `what`, as in "dashboard shop".
SaveOutcome ConflictOn(const std::string& what);

}  // namespace wf::answer
