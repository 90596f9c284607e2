// W3C Trace Context, level 2: https://www.w3.org/TR/trace-context-2/
#include "wherefore/context.h"

#include <array>
#include <utility>

#include "client/queries/thread_baggage.h"
#include "client/tracer/baggage_header.h"
#include "client/tracer/recorder_link.h"

namespace wherefore {
namespace {

using client::PercentDecode;
using client::PercentEncode;
using client::SplitBaggage;
using client::TokenChar;
using client::Trim;
using client::ValidBaggage;

// What of this thread's context is not in thread_state.
struct Carried {
  std::string tracestate;
  std::string baggage;
  BlockId callee = 0;
  uint8_t detail = 0;
  RequestContext::Origin origin = RequestContext::Origin::kLocal;
  bool awaits_decision = false;
};
thread_local Carried carried;

constexpr size_t kVersion00Length = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2
constexpr size_t kTracestateLimit = 512;
constexpr int kTracestateMembers = 32;
constexpr std::string_view kOwnMember = "wf=";
constexpr uint8_t kKnownFlags = 0x03;  // sampled, random; unknown ones must not travel on

constexpr uint8_t kNoDigit = 0x80;
constexpr std::array<uint8_t, 256> DigitValues() {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNoDigit;
  for (uint8_t i = 0; i < 10; ++i) values[static_cast<size_t>('0' + i)] = i;
  // Lower-case only: the recommendation forbids upper case.
  for (uint8_t i = 0; i < 6; ++i)
    values[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = DigitValues();

// Ids are random: a branch on each digit would be mispredicted every third time.
bool ParseHex(std::string_view text, uint64_t& value) {
  value = 0;
  uint8_t seen = 0;
  for (char c : text) {
    const uint8_t digit = kDigitValues[static_cast<unsigned char>(c)];
    seen |= digit;
    value = value << 4 | (digit & 15u);
  }
  return (seen & kNoDigit) == 0;
}

// Returns what follows.
char* WriteHex(uint64_t value, int digits, char* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    *out++ = "0123456789abcdef"[value >> shift & 15];
  return out;
}
void AppendHex(uint64_t value, int digits, std::string& out) {
  char text[16];
  out.append(text, static_cast<size_t>(WriteHex(value, digits, text) - text));
}

bool ValidMember(std::string_view member) {
  const size_t equals = member.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > 256) return false;
  for (char c : member.substr(0, equals)) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                         c == '*' || c == '/' || c == '@';
    if (!allowed) return false;
  }
  const std::string_view value = member.substr(equals + 1);
  if (value.empty() || value.size() > 256) return false;
  for (char c : value) {
    if (c < 0x20 || c > 0x7E || c == ',' || c == '=') return false;
  }
  return true;
}

bool ValidTracestate(std::string_view text) {
  if (text.size() > kTracestateLimit) return false;
  int members = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = Trim(text.substr(0, comma));
    if (!member.empty() && (!ValidMember(member) || ++members > kTracestateMembers)) return false;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return true;
}

// Takes our own member out of `text`; the others keep their order.
std::string_view TakeOwnMember(std::string_view text, std::string& others) {
  std::string_view own;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = Trim(text.substr(0, comma));
    if (member.substr(0, kOwnMember.size()) == kOwnMember) {
      if (own.empty()) own = member.substr(kOwnMember.size());
    } else if (!member.empty()) {
      if (!others.empty()) others.push_back(',');
      others.append(member);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return own;
}

}  // namespace

namespace internal {
__thread ThreadState thread_state __attribute__((tls_model("initial-exec")));
}

RequestContext::RequestContext(TraceId trace, BlockId block, uint8_t flags, std::string tracestate,
                               Origin origin)
    : trace_(trace),
      block_(block),
      flags_(flags),
      origin_(origin),
      tracestate_(std::move(tracestate)) {}

std::optional<RequestContext> RequestContext::FromHeaders(std::string_view traceparent,
                                                          std::string_view tracestate,
                                                          std::string_view baggage) {
  const std::string_view text = Trim(traceparent);
  if (text.size() < kVersion00Length) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  uint64_t version, hi, lo, block, flags;
  if (!ParseHex(text.substr(0, 2), version) || !ParseHex(text.substr(3, 16), hi) ||
      !ParseHex(text.substr(19, 16), lo) || !ParseHex(text.substr(36, 16), block) ||
      !ParseHex(text.substr(53, 2), flags)) {
    return std::nullopt;
  }
  if (version == 0xFF) return std::nullopt;
  if (version == 0 && text.size() != kVersion00Length) return std::nullopt;
  // A later version may append fields, never change these.
  if (text.size() > kVersion00Length && text[kVersion00Length] != '-') return std::nullopt;
  const TraceId trace{hi, lo};
  if (!trace.valid() || block == 0) return std::nullopt;
  RequestContext context(trace, block, static_cast<uint8_t>(flags & kKnownFlags), {},
                         Origin::kRemote);
  const std::string_view state = Trim(tracestate);
  if (ValidTracestate(state)) {
    std::string_view own = TakeOwnMember(state, context.tracestate_);
    while (!own.empty()) {
      const size_t end = own.find(';');
      const std::string_view part = own.substr(0, end);
      own.remove_prefix(end == std::string_view::npos ? own.size() : end + 1);
      uint64_t id, caller;
      if (part == "o") {
        context.awaits_decision_ = true;
      } else if (part.size() == 2 && part[0] == 'd' && part[1] >= '0' && part[1] <= '3') {
        context.detail_ = static_cast<uint8_t>(part[1] - '0' + 1);
      } else if (part.size() == 34 && part[0] == 'r' && part[17] == '.' &&
                 ParseHex(part.substr(1, 16), id) && ParseHex(part.substr(18), caller) &&
                 caller == block) {
        // Someone in between who took part in the trace has put its own id into traceparent, and left tracestate
        // as it was: then the call is not ours any more.
        context.callee_ = id;
      }
    }
  }
  const std::string_view entries = Trim(baggage);
  if (ValidBaggage(entries)) {
    context.baggage_ = std::string(entries);
    context.tuples_ = client::TakeOwnMembers(context.baggage_);
  }
  return context;
}

RequestContext RequestContext::Current() {
  RequestContext context = Peek();
  if (context.line_ != 0) context.tuples_ = client::FreezeCurrent();
  return context;
}

RequestContext RequestContext::Fork() {
  RequestContext context = Current();
  context.line_ = 0;
  return context;
}

bool RequestContext::OnThisLine() const { return line_ != 0 && line_ == client::CurrentLine(); }

void RequestContext::DropBaggage() {
  tuples_.reset();
  line_ = 0;
}

RequestContext RequestContext::Peek() {
  const internal::ThreadState& state = internal::thread_state;
  RequestContext context;
  if ((state.trace_hi | state.trace_lo) == 0) {
    context.line_ = client::CurrentLine();
    context.untraced_ = context.line_ != 0;
    return context;
  }
  context.trace_ = {state.trace_hi, state.trace_lo};
  context.block_ = state.block;
  context.flags_ = state.flags;
  context.hold_ = state.hold;
  context.detail_ = carried.detail;
  context.origin_ = carried.origin;
  context.awaits_decision_ = carried.awaits_decision;
  context.callee_ = carried.callee;
  context.tracestate_ = carried.tracestate;
  context.baggage_ = carried.baggage;
  context.line_ = client::CurrentLine();
  return context;
}

void RequestContext::Attach() && {
  internal::ThreadState& state = internal::thread_state;
  // Whatever interrupts us sees a request that is not recorded, never half of one.
  state.recording = 0;
  // Attaching what is attached already stays in the unit.
  const bool same = state.trace_hi == trace_.hi && state.trace_lo == trace_.lo &&
                    state.block == block_ && block_ != 0;
  if (!same) state.unit = 0;
  state.trace_hi = trace_.hi;
  state.trace_lo = trace_.lo;
  state.block = block_;
  state.draft = nullptr;
  const bool unseen = origin_ == Origin::kRemote || awaits_decision_ || callee_ != 0;
  state.settled = trace_.valid() && !unseen;
  state.flags = flags_;
  state.hold = hold_;
  carried.detail = detail_;
  carried.origin = origin_;
  carried.awaits_decision = awaits_decision_;
  carried.callee = callee_;
  carried.tracestate = std::move(tracestate_);
  carried.baggage = std::move(baggage_);
  const uint8_t level = detail_ != 0 ? detail_ : static_cast<uint8_t>(Detail::kInternals) + 1;
  if (sampled() || hold_ == internal::Hold::kUntilDecision) state.recording = level;
  client::TellRecorder(state);
}

RequestContext RequestContext::Exchange(RequestContext context) {
  RequestContext previous = Current();
  if (!context.OnThisLine()) {
    const auto whose = context.request() ? client::LineOf::kRequest : client::LineOf::kNobody;
    // `previous` has it all.
    client::DropLine(client::EnterLine(whose, std::move(context.tuples_)).baggage);
  }
  std::move(context).Attach();
  return previous;
}

std::optional<Detail> RequestContext::detail() const {
  if (detail_ == 0) return std::nullopt;
  return static_cast<Detail>(detail_ - 1);
}

std::string RequestContext::tracestate() const {
  std::string own;
  const auto part = [&own]() -> std::string& { return own.empty() ? own : own.append(";"); };
  if (detail_ != 0) part().append("d").push_back(static_cast<char>('0' + detail_ - 1));
  if (hold_ == internal::Hold::kUntilDecision) part().append("o");
  if (callee_ != 0) {
    part().append("r");
    AppendHex(callee_, 16, own);
    own.push_back('.');
    AppendHex(block_, 16, own);
  }
  if (own.empty()) return tracestate_;
  own.insert(0, kOwnMember);
  // The recommendation lets whoever adds a member drop others from the end when there are too many.
  if (!tracestate_.empty() && own.size() + 1 + tracestate_.size() <= kTracestateLimit) {
    own.append(",").append(tracestate_);
  }
  return own;
}

std::optional<std::string> RequestContext::BaggageEntry(std::string_view key) const {
  std::string_view text = baggage_;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view name, value;
    if (SplitBaggage(text.substr(0, comma), name, value) && name == key) {
      return PercentDecode(value);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return std::nullopt;
}

std::string RequestContext::baggage() const {
  return client::WithOwnMembers(baggage_, tuples_.get());
}

RequestContext RequestContext::WithBaggage(std::string_view key, std::string_view value) const {
  RequestContext changed = *this;
  if (key.empty() || key == client::kBaggageMember || key == client::kBaggageMember2)
    return changed;
  for (char c : key) {
    if (!TokenChar(c)) return changed;
  }
  std::string entries;
  std::string_view text = baggage_;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view member = Trim(text.substr(0, comma));
    std::string_view name, old;
    if (!SplitBaggage(member, name, old) || name != key) {
      entries.append(entries.empty() ? "" : ",").append(member);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  entries.append(entries.empty() ? "" : ",").append(key).append("=").append(PercentEncode(value));
  if (ValidBaggage(entries)) changed.baggage_ = std::move(entries);
  return changed;
}

std::string RequestContext::Traceparent() const {
  if (!valid()) return {};
  char text[kVersion00Length] = {'0', '0', '-'};
  char* out = WriteHex(trace_.hi, 16, text + 3);
  out = WriteHex(trace_.lo, 16, out);
  *out++ = '-';
  out = WriteHex(block_, 16, out);
  *out++ = '-';
  WriteHex(flags_, 2, out);
  return {text, sizeof text};
}

std::string RequestContext::TraceHex() const {
  std::string text;
  AppendHex(trace_.hi, 16, text);
  AppendHex(trace_.lo, 16, text);
  return text;
}

std::string RequestContext::BlockHex() const {
  std::string text;
  AppendHex(block_, 16, text);
  return text;
}

ContextScope::ContextScope(RequestContext context)
    : previous_(RequestContext::Peek()),
      previous_unit_(internal::thread_state.unit),
      previous_draft_(internal::thread_state.draft),
      entered_(!context.OnThisLine()) {
  if (entered_) {
    const auto whose = context.request() ? client::LineOf::kRequest : client::LineOf::kNobody;
    const client::SavedLine saved = client::EnterLine(whose, std::move(context.tuples_));
    previous_baggage_ = saved.baggage;
    previous_.line_ = saved.line;
  }
  std::move(context).Attach();
}

ContextScope::~ContextScope() {
  // What was packed inside on the same line stays; what another line packed goes with it.
  if (entered_) client::RestoreLine({previous_.line_, previous_baggage_});
  std::move(previous_).Attach();
  internal::thread_state.unit = previous_unit_;
  internal::thread_state.draft = previous_draft_;
}

}  // namespace wherefore
