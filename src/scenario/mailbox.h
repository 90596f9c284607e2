// A mailbox of two months, generated (Aguilera et al. §7.1.3): every message went through several hosts of one company,
// and each host added a `Received:` header with the second in which it took the message. Most pass on at once; some hosts
// hold some messages for 10 or 15 seconds (figure 16). By its Message-ID each message tells its true path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "scenario/scenario.h"

namespace wf::scenario {

constexpr ScenarioDescription kMailboxScenario = {
    "mailbox", "two months of mail with its Received headers, for paths by convolution"};

struct MailboxOptions {
  uint64_t seed = 1;
  int64_t messages = 11'683, headers = 81'044;  // the paper's
  Nanos start = kScenarioStart;
  Nanos duration = 5'100'000 * kSecond;
};

struct MailMessage {
  std::vector<uint16_t> hosts;  // from the host that first sent it to the one that keeps it
  std::vector<Nanos> received;  // of each host but the first: when; whole seconds
};

struct Mailbox {
  std::vector<std::string> hosts;
  std::vector<MailMessage> messages;                // in the order they came in
  std::map<std::vector<uint16_t>, uint64_t> paths;  // how many messages took each
};

// As many messages and headers as told; kBadInput if no paths of 6 or 7 headers make them.
Result<Mailbox> GenerateMailbox(const MailboxOptions& options);

// As an mbox file's text.
std::string MailboxText(const Mailbox& mailbox);

// Writes mailbox.mbox and query.json (the true paths) into `folder`, made when missing. Neither appears before it is whole.
Result<ScenarioFiles> WriteMailbox(const MailboxOptions& options, const std::string& folder);

}  // namespace wf::scenario
