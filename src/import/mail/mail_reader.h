// A mailbox (mbox), or a single mail → one MSG per `Received:` header, from the sending host to the host that
// wrote the header, at its date; the id, and the true path, is the mail's Message-ID (Aguilera et al.
// §7.1.3).
//
// Headers come in the order in which the mail passed the hosts, the last in the file first; mails in the
// order of the box, which is not that of time. Unusable headers are counted, not treated as errors: mail is
// full of them.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/mail/received_header.h"
#include "model/sighting.h"
#include "net/decoding_reader.h"

namespace wf::mail {

struct MailCounts {
  uint64_t mails = 0, headers = 0;  // of `Received:`
  uint64_t no_hosts = 0, generic_host = 0, no_time = 0, overlong = 0;
};

class MailReader : public SightingSource {
 public:
  // `nodes` must outlive it. `name` is for errors.
  MailReader(net::ChunkSource source, std::string name, uint32_t input, StringTable& nodes);

  Result<bool> Next(SightingLine& line) override;

  const MailCounts& counts() const { return counts_; }

 private:
  enum class Part { kBody, kHeaders };

  Result<bool> NextLine(std::string_view& line);
  Status ReadMail();  // up to the end of its headers, or of the file
  void TakeHeader();

  net::ChunkSource source_;
  std::string name_;
  uint32_t input_;
  StringTable& nodes_;
  std::string buffer_;
  size_t begin_ = 0;
  bool ended_ = false, overlong_ = false;
  Part part_ = Part::kHeaders;  // a box may begin without a `From ` line
  bool blank_before_ = true;
  std::string header_;  // the one being read, unfolded
  std::string message_id_;
  std::vector<ReceivedHop> hops_;  // of this mail, in the order of the file; read from the end
  uint64_t given_ = 0;
  MailCounts counts_;
};

}  // namespace wf::mail
