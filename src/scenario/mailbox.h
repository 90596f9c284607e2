// A mailbox of two months, generated (Aguilera et al. §7.1.3): every message went through several hosts of
// one company, and each host added a `Received:` header with the second in which it received the message.
// Most hosts forward at once; some hold some messages for 10 or 15 seconds (figure 16). The Message-ID
// identifies the true path of a message.
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
  std::vector<uint16_t> hosts;  // from the first sender to the host that keeps the message
  std::vector<Nanos> received;  // for each host but the first: when; whole seconds
};

struct Mailbox {
  std::vector<std::string> hosts;
  std::vector<MailMessage> messages;                // in order of arrival
  std::map<std::vector<uint16_t>, uint64_t> paths;  // number of messages per path
};

// Generates exactly the given numbers of messages and headers; kBadInput if no paths of 6 or 7 headers can
// add up to them.
Result<Mailbox> GenerateMailbox(const MailboxOptions& options);

// As an mbox file's text.
std::string MailboxText(const Mailbox& mailbox);

// Writes mailbox.mbox and query.json (the true paths) into `folder`, created if missing. Each file appears
// only when it is complete.
Result<ScenarioFiles> WriteMailbox(const MailboxOptions& options, const std::string& folder);

}  // namespace wf::scenario
