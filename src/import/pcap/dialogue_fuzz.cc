// Every protocol's reader on what two ends say. The first byte chooses the protocol and the roles; then come sayings, each
// behind a byte with its end, its length, or that bytes were lost.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "import/pcap/dialogue.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  std::vector<wf::pcap::WireMessage> out;
  wf::pcap::CaptureCounts counts;
  wf::pcap::DialogueContext context;
  context.out = &out;
  context.counts = &counts;
  context.client =
      choice >> 4 & 3 ? static_cast<wf::pcap::End>((choice >> 4 & 3) - 1) : wf::pcap::kNoEnd;
  context.from_start[0] = (choice & 0x40) != 0;
  context.from_start[1] = (choice & 0x80) != 0;
  const auto protocol = static_cast<wf::pcap::Protocol>(1 + (choice & 0xf) % 9);
  auto dialogue = wf::pcap::MakeDialogue(protocol, context);
  wf::Nanos time = 0;
  uint32_t sequence[2] = {100, 200};
  while (!input.empty() && !dialogue->over()) {
    const auto head = static_cast<uint8_t>(input[0]);
    input.remove_prefix(1);
    const wf::pcap::End from = head & 1;
    time += 1000;
    if ((head & 0xfe) == 0xfe) {
      dialogue->Gap(from, 7);
      sequence[from] += 7;
      continue;
    }
    if ((head & 0xfe) == 0xfc) {
      dialogue->Quiet();
      continue;
    }
    const std::string_view said = input.substr(0, head >> 1);
    input.remove_prefix(said.size());
    if (said.empty()) continue;
    const size_t used = dialogue->Data(from, said, time, sequence[from]);
    WF_CHECK(used <= said.size());
    WF_CHECK(used == said.size() || dialogue->over());
    sequence[from] += static_cast<uint32_t>(said.size());
    if (dialogue->untold_since() < time - 500) dialogue->TellOpenCalls(time);
  }
  dialogue->Closed(0);
  dialogue->Closed(1);
  dialogue->Finish();
  for (const wf::pcap::WireMessage& message : out) {
    WF_CHECK(message.from < 2);
    WF_CHECK(message.bytes >= -1);
    WF_CHECK(message.time_ns <= time);
  }
  return 0;
}
