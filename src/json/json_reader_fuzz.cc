#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "json/json_reader.h"
#include "json/json_splitter.h"

namespace {

size_t Walk(wf::JsonValue value) {
  size_t n =
      1 + value.String().size() + (value.IntOrText() ? 1 : 0) + (value.NumberOrText() ? 1 : 0);
  for (const wf::JsonValue element : value.Elements()) n += Walk(element);
  for (const auto& [key, member] : value.Members()) n += key.size() + Walk(member);
  return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  wf::JsonParser parser;
  const auto root = parser.Parse(text);
  // The two parsers agree on what is JSON; only then does a message name a place.
  const auto fault = wf::FindJsonFault(text);
  WF_CHECK(root.ok() == !fault.has_value());
  if (root.ok()) WF_CHECK(Walk(*root) > 0);
  if (fault) WF_CHECK(fault->offset <= text.size());
  // A splitter always gets on.
  wf::JsonSplitter pieces = wf::JsonSplitter::Sequence(text);
  std::string_view piece;
  size_t last = 0;
  while (pieces.Next(piece)) {
    WF_CHECK(pieces.position() > last && !piece.empty());
    last = pieces.position();
  }
  return 0;
}
