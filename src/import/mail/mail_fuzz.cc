// Any bytes: every header is given or counted, whatever pieces they come in.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "import/mail/mail_reader.h"

namespace {

struct Box {
  uint64_t given = 0, sum = 0;
  wf::mail::MailCounts counts;
};

Box Read(std::string_view input, size_t piece) {
  Box out;
  wf::StringTable nodes;
  size_t at = 0;
  wf::mail::MailReader reader(
      [&](char* buffer, size_t size) -> wf::Result<size_t> {
        const size_t n = std::min({size, piece, input.size() - at});
        std::memcpy(buffer, input.data() + at, n);
        at += n;
        return n;
      },
      "fuzz", 1, nodes);
  wf::SightingLine line;
  while (*reader.Next(line)) {
    ++out.given;
    out.sum =
        wf::MixBits(out.sum ^ static_cast<uint64_t>(line.sighting.time_ns) ^ line.sighting.id);
    WF_CHECK(!nodes.At(line.sighting.sender).empty() && !nodes.At(line.sighting.receiver).empty());
    WF_CHECK(line.id.find_first_of(" \t\r\n") == std::string::npos && !line.id.empty());
  }
  out.counts = reader.counts();
  const wf::mail::MailCounts& c = out.counts;
  WF_CHECK(out.given + c.no_hosts + c.generic_host + c.no_time == c.headers);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Box whole = Read(input, size + 1), pieces = Read(input, 7);
  WF_CHECK(whole.given == pieces.given && whole.sum == pieces.sum);
  WF_CHECK(whole.counts.mails == pieces.counts.mails);
  return 0;
}
