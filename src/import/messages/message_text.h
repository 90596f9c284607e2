// One line of message text ↔ one sighting (docs/reference/messages.md): `seconds op sender receiver id [key=value …]`.
//
// Thread safety: functions of their arguments only.
#pragma once

#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "model/sighting.h"

namespace wf::messages {

// The fields of a line, as written.
struct MessageFields {
  Nanos time_ns = 0;
  MessageKind kind = MessageKind::kMessage;
  SightedBy by = SightedBy::kCommon;
  std::string_view sender, receiver, id;
  std::string_view keys;  // the rest of the line, without blanks around it
};

enum class LineKind { kSighting, kNothing, kMalformed };  // kNothing: a comment, or empty

// `line` has no line feed; a carriage return at its end is ignored. On kMalformed, `fault` says what is wrong with it.
LineKind ParseMessageLine(std::string_view line, MessageFields& fields, std::string& fault);

// Evidence and truth: thread=, conn=, bytes=, path=. Other keys are skipped.
void ReadMessageKeys(std::string_view keys, Sighting& sighting);

// "1655759356.535256": whole seconds, up to 9 digits behind the point, exactly. False: another form, or
// beyond 64 bits of ns.
bool ParseSeconds(std::string_view text, Nanos& time_ns);
// Six digits behind the point where they suffice, else nine.
void AppendSeconds(Nanos time_ns, std::string& out);

std::string_view OpName(MessageKind kind, SightedBy by);

// With its line feed. Blanks in names, which text cannot hold, become `_`.
void AppendMessageLine(const SightingLine& line, std::string_view sender, std::string_view receiver,
                       std::string& out);

}  // namespace wf::messages
